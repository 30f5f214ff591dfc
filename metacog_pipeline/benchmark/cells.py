"""Cells of tables that somebody else made: nothing, a number, true or false, the name of a column."""

from __future__ import annotations

import math
import unicodedata

MISSING = frozenset({
    "", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "nil", "none", "missing", ".", "-", "--", "–", "—", "?",
})  # fmt: skip
# Words for true and false, as spreadsheets and people write them: English, German, French, Spanish, Portuguese, Italian,
# Dutch, Swedish, Polish, Turkish, Russian, Chinese, Japanese, Korean, Arabic, Hindi.
_YES = """true t yes y wahr ja richtig vrai oui juste verdadero cierto sí si correcto verdadeiro sim correto vero corretto
waar sant rätt prawda tak doğru evet истина правда да верно 真 是 对 對 正确 正確 正解 はい 참 예 네 صحيح نعم सही हाँ सत्य"""
_NO = """false f no n falsch nein faux non falso incorrecto não nao incorreto sbagliato onwaar nee falskt nej fałsz nie
yanlış hayır ложь нет неверно 假 否 错 錯 错误 錯誤 不正解 いいえ 거짓 아니요 아니오 خطأ لا गलत नहीं असत्य"""
TRUTHS = {**dict.fromkeys(_NO.split(), False), **dict.fromkeys(_YES.split(), True)}


def missing(value: object) -> bool:
    """Whether a cell of a short answer says nothing: empty, NaN, or a word for it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return isinstance(value, str) and value.strip().casefold() in MISSING


def compared_name(name: str) -> str:
    """Return the name of a column as names are compared: without case, spaces and hyphens."""
    return "_".join(name.strip().casefold().replace("-", " ").split())


def absent(value: object) -> bool:
    """Whether a cell says nothing."""
    if isinstance(value, str):
        return not value or value.isspace()
    return value is None or (isinstance(value, float) and math.isnan(value)) or not str(value).strip()


def truth(text: str) -> bool | None:
    """Return what a word for true or false says, in any of the languages of the table; None for any other text."""
    return TRUTHS.get(unicodedata.normalize("NFC", text.strip().casefold()))


def number(value: object) -> float | None:
    """Return a finite number given as a number or as text, a percent sign ignored; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value.strip().removesuffix("%") if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None
