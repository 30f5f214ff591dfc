"""Words of tables that somebody else made: for nothing, for right and wrong, and names of columns in common use."""

from __future__ import annotations

from collections.abc import Mapping

MISSING = frozenset({
    "", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "nil", "none", "missing", ".", "-", "--", "–", "—", "?",
})  # fmt: skip
# Words for true and false, as spreadsheets and users write them: English, German, French, Spanish, Portuguese, Italian,
# Dutch, Swedish, Polish, Turkish, Russian, Chinese, Japanese, Korean, Arabic, Hindi.
_TRUE = """true t yes y wahr ja richtig vrai oui juste verdadero cierto sí si correcto verdadeiro sim correto vero corretto
waar sant rätt prawda tak doğru evet истина правда да верно 真 是 对 對 正确 正確 正解 はい 참 예 네 صحيح نعم सही हाँ सत्य"""
_FALSE = """false f no n falsch nein faux non falso incorrecto não nao incorreto sbagliato onwaar nee falskt nej fałsz nie
yanlış hayır ложь нет неверно 假 否 错 錯 错误 錯誤 不正解 いいえ 거짓 아니요 아니오 خطأ لا गलत नहीं असत्य"""
TRUTHS: Mapping[str, bool] = {**dict.fromkeys(_FALSE.split(), False), **dict.fromkeys(_TRUE.split(), True)}
YES = ("1", "right", "correct", *_TRUE.split())
NO = ("0", "wrong", "incorrect", "error", *_FALSE.split())
#: Pairs of labels of which the first is S1 though the alphabet, or what is shown first, says otherwise.
S1_FIRST: Mapping[str, int] = {
    **dict.fromkeys(
        ("no", "n", "false", "f", "absent", "noise", "new", "left", "s1", "different", "incorrect"), 0
    ),
    **dict.fromkeys(
        ("yes", "y", "true", "t", "present", "signal", "old", "right", "s2", "same", "correct"), 1
    ),
}
#: Labels of which it is known which says that something is there: pairs of different words of them are the same.
DETECTED = frozenset({
    "no", "yes", "n", "y", "false", "true", "absent", "present", "noise", "signal", "0", "1",
})  # fmt: skip
#: Names of columns by what they hold, in the order in which they are looked for; compared by `confidence_columns.plain`.
NAMES: Mapping[str, tuple[str, ...]] = {
    "confidence": (
        "confidence", "conf", "confidence_rating", "conf_rating", "confidence_level", "conf_level", "rating",
        "certainty", "sureness", "confrating", "wager", "ratings",
    ),
    "correct": (
        "accuracy", "correct", "correctness", "is_correct", "iscorrect", "acc", "corr", "ok", "right", "is_right",
        "hit", "outcome", "accurate",
    ),
    "stimulus": (
        "stimulus", "stim", "stim_type", "stimulus_type", "signal", "target", "truth", "ground_truth", "true_label",
        "correct_response", "correct_answer", "correct_resp", "correct_choice", "gold", "label", "stim_id",
        "stimulus_id", "true_class", "s",
    ),
    "response": (
        "response", "resp", "choice", "answer", "judgment", "judgement", "decision", "chosen", "prediction", "pred",
        "reported", "response_type", "subject_response", "r",
    ),
    "subject": (
        "subj_idx", "subject", "subj", "sub", "subject_id", "subj_id", "sub_id", "subid", "participant", "participant_id",
        "part_id", "participant_nr", "participant_number", "pid", "ppt", "ppn", "observer", "observer_id", "respondent",
        "respondent_id", "worker_id", "user", "user_id", "prolific_id", "sid", "id_subject", "vp", "pp", "id",
    ),
}  # fmt: skip
