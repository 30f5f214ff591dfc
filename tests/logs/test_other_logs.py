"""Logs of lm-eval, of batches, and Every Eval Ever: what they say, and that what they do not say is counted."""

import math

import pytest

from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.errors import StudyError
from metacog_pipeline.reading import tokens
from tests.logs.conftest import lines, samples
from tests.tables import every


def choice(number, likely, target=1, **more):
    """Return a multiple-choice sample of lm-eval, as it stands in its file."""
    options = ["Lyon", "Paris", "Nice"]
    asked = [[f"Question {number}: capital of France?", f" {each}"] for each in options]
    return {
        "doc_id": number, "doc": {"question": f"Question {number}: capital of France?", "choices": options},
        "target": target, "arguments": asked, "resps": [[[str(each), "False"]] for each in likely],
        "filtered_resps": [[each, False] for each in likely], "filter": "none", "acc": 1.0, **more,
    }  # fmt: skip


def test_choices_of_lm_eval_have_the_chances_of_their_log_likelihoods(tmp_path, take):
    folder = tmp_path / "meta-llama__Llama-3"
    folder.mkdir()
    path = folder / "samples_capitals_2026-01-02T03-04-05.jsonl"
    first, second = samples(lines(path, choice(0, [-3, -1, -2]), choice(1, [-1, -9, -5])))
    assert (first.task, first.model) == ("capitals", "meta-llama/Llama-3")
    assert (first.said.text, second.said.text) == ("B", "A")
    share = tokens.chance(first.said.logprobs, lambda text: text == "B")
    assert share == pytest.approx(math.exp(-1) / sum(math.exp(-each) for each in (1, 2, 3)))
    done = take(path)
    assert done.kept == 2
    assert done.study.benchmarks["questions"].model_dump()["conditions"] == ("choice_logprob",)
    into = bound(done.study, "questions")
    assert [item.answer for item in into.items] == ["B", "B"] and done.study.models[0].name == "llama-3"


def test_a_reply_that_several_filters_read_is_one_answer(tmp_path):
    row = {"doc_id": 0, "doc": {"question": "2+2?"}, "target": "two and two\n#### 4", "arguments": {},
           "resps": [["It is 4."]], "filtered_resps": ["4"], "filter": "strict", "exact_match": 1.0}  # fmt: skip
    only, again = samples(lines(tmp_path / "samples_gsm.jsonl", row, {**row, "filter": "flexible"}))
    assert again.same and again.why == "is the same reply, read by another filter"
    assert only.question == {"question": "2+2?", "answers": ["4"]} and only.right is True


def test_a_log_of_which_nothing_can_be_used_calls_its_sample_one(tmp_path, take):
    path = lines(tmp_path / "samples_truthfulqa_mc2.jsonl", {**choice(0, [-3, -1, -2]), "acc": 0.4})
    why = r"none of its 1 rows can be used: sample 0: several of its options are right"
    with pytest.raises(StudyError, match=why):
        take(path)


def written(number, doc, target, reply):
    """Return a sample of lm-eval whose reply is a text, as it stands in its file."""
    return {"doc_id": number, "doc": doc, "target": target, "arguments": [["Q", {"until": []}]], "resps": [[reply]],
            "filter": "none", "exact_match": 1.0}  # fmt: skip


@pytest.mark.parametrize(
    ("doc", "target"),
    [({"question": "Which?", "options": ["u", "v", "w"], "answer_index": 1}, "B"),
     ({"Question": "Which?", "choice1": "u", "choice2": "v", "choice3": "w"}, "(B)"),
     ({"question": "Which?", "options": {"A": "u", "B": "v", "C": "w"}}, "B"),
     ({"input": "Which?\nOptions:\n(A) u\n(B) v\n(C) w"}, "(B)")],
)  # fmt: skip
def test_options_are_found_where_tasks_of_lm_eval_keep_them(tmp_path, take, doc, target):
    reply = "Take (A) first: no. The correct answer is (B)."
    path = lines(tmp_path / "samples_x.jsonl", written(0, doc, target, reply))
    (only,) = samples(path)
    assert only.question is not None and only.question["options"] == ["u", "v", "w"]
    into = bound(take(path, model="m").study, "questions")
    (item,) = into.items
    assert (item.answer, into.parse(item, "answer_only", {"answer": Call("ok", reply)}).correct) == ("B", 1)


def test_a_letter_names_a_place_where_options_are_letters_themselves(tmp_path, take, changed):
    groups = ["O", "A", "B", "AB"]
    doc = {"question": "Which blood?", "options": groups}
    asked = [["Which?", f" {each}"] for each in groups]
    first = choice(0, [-3, -1, -2, -4], doc={"question": "Which?", "choices": groups}, arguments=asked)
    path = lines(tmp_path / "samples_blood.jsonl", first, written(1, doc, "(C)", "(C)"))
    into = bound(take(path, model="m").study, "questions")
    assert {item.question: item.answer for item in into.items} == {"Which?": "B", "Which blood?": "C"}
    log = changed(lambda sample: sample.update(choices=groups, target="B", id=1, epoch=1))
    assert {each.question["answer"] for each in samples(log) if each.question} == {"(B)"}


def test_answers_to_questions_nobody_asked_say_what_to_do(tmp_path, take):
    body = {"model": "gpt-x", "choices": [{"message": {"content": "Answer: B"}, "finish_reason": "stop"}]}
    row = {"custom_id": "s01", "response": {"status_code": 200, "body": body}}
    with pytest.raises(StudyError, match="the file does not hold its question"):
        take(lines(tmp_path / "out.jsonl", row))


def test_a_line_that_is_cut_off_is_named(tmp_path, take):
    path = lines(tmp_path / "samples_x.jsonl", choice(0, [-3, -1, -2]), choice(1, [-3, -1, -2]))
    path.write_text(path.read_text()[:-30])
    with pytest.raises(StudyError, match="line 2: the row is no JSON object; cut off"):
        take(path)
    assert not (tmp_path / "study.toml").exists()


def result(number, **more):
    return {
        "evaluation_id": "e", "model_id": "org/model", "evaluation_name": "capitals", "sample_id": str(number),
        "input": {"raw": f"Capital {number}?", "reference": ["B"], "choices": ["Lyon", "Paris"]},
        "output": {"raw": ["Answer: B\nConfidence: 70%"]}, "evaluation": {"score": 1.0, "is_correct": True},
        "token_usage": {"input_tokens": 4, "output_tokens": 2}, **more,
    }  # fmt: skip


def test_every_eval_ever_says_question_answer_and_usage(tmp_path, take):
    path = lines(
        tmp_path / "one.jsonl", result(0), result(0), result(1, error="timeout"), result(2, interaction_type="agentic")
    )  # fmt: skip
    first = samples(path)[0]
    assert (first.said.usage.input_tokens, first.right) == (4, True)
    done = take(path)
    assert done.study.study.runs == 2 and done.kept == 2
    assert [each[2] for each in done.rejected] == ["ended with an error: timeout", "takes several turns"]


def test_responses_of_gemini_name_their_request(tmp_path, take):
    said = {"candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": "Answer: B"}]}}]}
    with pytest.raises(StudyError, match=r"does not say which request it answers.*metadata\.key"):
        take(lines(tmp_path / "inline.jsonl", {"response": said}))
    (only,) = samples(lines(tmp_path / "keyed.jsonl", {"metadata": {"key": "q7"}, "response": said}))
    assert (only.name, only.said.text) == ("q7", "Answer: B")


def test_options_that_end_two_contexts_alike_are_those_of_the_item(tmp_path):
    doc = {"sentence": "It was too big: _.", "option1": "the cup", "option2": "the box"}
    asked = [[f"It was too big: {each}", " ."] for each in ("the cup", "the box")]
    row = {**choice(0, [-3, -1]), "doc": doc, "arguments": asked}
    (only,) = samples(lines(tmp_path / "samples_winogrande.jsonl", row))
    assert only.question is not None
    assert (only.question["options"], only.question["answer"]) == (["the cup", "the box"], "B")


@every(("continued", "options"), [
    ("(A) (B) (C)", "uvw"), ("u v w", "uvw"), ("w u v", "wuv"), ("u; v; w;", "uvw"),
])  # fmt: skip
def test_weighed_options_are_the_items_own_in_the_order_of_the_requests(tmp_path, continued, options):
    asked = [["Which?", f" {each}"] for each in continued.split()]
    row = choice(0, [-3, -1, -2], doc={"question": "Which?", "choices": ["u", "v", "w"]}, arguments=asked)
    (only,) = samples(lines(tmp_path / "samples_gpqa.jsonl", row))
    assert only.question == {"question": "Which?", "options": list(options), "answer": "B", "kind": "choice"}


def test_the_stem_of_lm_eval_is_a_field_of_the_item_whatever_its_name(tmp_path):
    def row(before):
        doc = {"TEXT": "The film was a delight from start to end.", "label": 1}
        prompt = f"{before}{doc['TEXT']}\nPositive or negative?"
        return {"doc_id": 0, "doc": doc, "target": " positive", "arguments": [[prompt, {"until": []}]],
                "resps": [["positive"]], "exact_match": 1.0}  # fmt: skip

    paths = (lines(tmp_path / f"samples_{n}.jsonl", row(each)) for n, each in enumerate(("<s>", "[INST] ")))
    found = [samples(path)[0] for path in paths]
    assert {each.question["question"] for each in found} == {"The film was a delight from start to end."}


def test_questions_that_differ_in_their_options_or_key_alone_stay_apart(tmp_path, take):
    def row(number, options, target):
        doc = {"question": "Which is true?", "choices": options, "answer": target}
        prompt = "Which is true?\nAnswer:"
        asked = {f"gen_args_{n}": {"arg_0": prompt, "arg_1": f" {x}"} for n, x in enumerate("ABC")}
        return {**choice(number, [-3, -1, -2], target), "doc": doc, "arguments": asked}

    first, second = ["salt is sweet", "ice is cold", "fire is wet"], ["cats bark", "dogs fly", "fish swim"]
    asked = (row(0, first, 1), row(1, second, 2), row(2, first, 0), row(3, first, 1))
    done = take(lines(tmp_path / "samples_mmlu.jsonl", *asked), model="m")
    found = [(list(item.options), item.answer) for item in bound(done.study, "questions").items]
    assert found == [(first, "B"), (second, "C"), (first, "A")]
    # the same question under another id is asked once more
    assert (done.kept, done.study.study.runs) == (4, 2)
