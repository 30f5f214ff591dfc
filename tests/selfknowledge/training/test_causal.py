"""Any causal language model in a folder can be evolved; what comes out is such a folder again."""

import json
from dataclasses import replace

import pytest
import torch

from metacog_pipeline.benchmarks.selfknowledge.training import generation, questions
from metacog_pipeline.benchmarks.selfknowledge.training.causal import open_model, read_model
from metacog_pipeline.benchmarks.selfknowledge.training.interview import Heard, Interview, measured
from metacog_pipeline.benchmarks.selfknowledge.training.questions import Question
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import together
from metacog_pipeline.benchmarks.selfknowledge.training.run import Plan, checkpoints, read_log, train
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker
from metacog_pipeline.errors import SourceError, StudyError
from metacog_pipeline.llm.local.generation import answer_batch
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling
from tests.selfknowledge.training.conftest import ASKED, ASKING, KINDS, SETTINGS, recipe


@pytest.mark.parametrize(("kind", "dtype"), [("llama", "float32"), ("gpt2", "bfloat16")])
def test_a_model_evolves_and_its_checkpoint_is_a_model_folder(make_model, kind, dtype, tmp_path):
    base = make_model(kind)
    last = train(SETTINGS, Plan(tmp_path / "run", 2, 2), Worker(recipe(base, dtype=dtype)))
    assert checkpoints(tmp_path / "run") == [2, 3]
    log = read_log(tmp_path / "run")
    assert any(any(commit.z) for commit, _ in log)
    again = open_model(last)
    assert again.model.dtype == getattr(torch, dtype)
    assert again.tokenizer.chat_template == open_model(base).tokenizer.chat_template
    assert Worker(recipe(last, dtype=dtype)).load(last) == log[-1][0].digest
    before, after = (read_model(each) for each in (base, last))
    assert any(not torch.equal(before[name], after[name]) for name in before)
    assert Worker(recipe(base, dtype=dtype)).replay([commit for commit, _ in log]) == log[-1][0].digest


def test_tied_tensors_are_one_and_evaluation_mode_is_on(make_model):
    loaded = open_model(make_model("gpt2"))
    assert not loaded.model.training
    assert loaded.model.get_output_embeddings().weight is loaded.model.get_input_embeddings().weight
    assert "lm_head.weight" not in recipe(make_model("gpt2")).build().tensors


@pytest.mark.parametrize("kind", KINDS)
def test_batched_greedy_answers_are_those_of_the_provider_and_of_the_library(make_model, kind):
    loaded = open_model(make_model(kind))
    interview = Interview(loaded, ASKED, ASKING)
    prompts = [interview.prompt(step, place) for step in ("direct", "meta") for place in range(10)]
    # Nothing shared, one token, other lengths; filled up on the left.
    odd = [[3], [3, 9], prompts[0], [4, 4, 4, 4], prompts[1][7:]]
    for asked in (prompts, odd, prompts[:1], [prompts[0]] * 3):
        for rows in (4, 64):
            with torch.no_grad():
                said = generation.answers(loaded, asked, 6, rows)
            assert said == [alone(loaded, prompt, 6) for prompt in asked]
    template = interview._wording.template("en", "direct")
    texts = [Message("user", template.replace("{question}", each.text)) for each in ASKED]
    requests = [ChatRequest((each,), Sampling(temperature=0.0, max_tokens=4)) for each in texts]
    assert [each.direct for each in interview.ask()] == [each.text for each in answer_batch(loaded, requests)]


def alone(loaded, prompt, most):
    ids = torch.tensor([prompt])
    fixed = {"do_sample": False, "max_new_tokens": most, "pad_token_id": loaded.tokenizer.pad_token_id}
    out = loaded.model.generate(ids, attention_mask=torch.ones_like(ids), **fixed)
    return loaded.tokenizer.decode(out[0, len(prompt) :], skip_special_tokens=True)


def test_what_prompts_begin_with_leaves_each_a_token():
    long = ([[1, 2, 3], [1, 2, 4]], 2)
    for prompts, shared in (long, ([[1, 2], [1, 2]], 1), ([[1], [1, 2]], 0), ([[5, 1], [6, 1]], 0)):
        assert generation.common(prompts) == shared


def test_parts_of_the_held_out_questions_add_up_to_all_of_them(make_model):
    asked = replace(recipe(make_model("llama")), held_out=ASKED, asking=replace(ASKING, rows=3))
    worker = Worker(asked)
    assert together([worker.validate(part, 3) for part in range(3)]) == worker.validate()
    assert worker.validate(7, 8).n == 0


def test_the_meta_question_goes_through_the_chat_template_unless_told_otherwise(make_model):
    loaded = open_model(make_model("llama"))
    chat, raw = (Interview(loaded, ASKED, replace(ASKING, meta_chat=each)) for each in (True, False))
    texts = [loaded.tokenizer.decode(each.prompt("meta", 0)) for each in (chat, raw)]
    assert texts[0].startswith("<|user|>")
    assert texts[0].endswith("<|assistant|>")
    assert "<|" not in texts[1]
    assert chat.prompt("direct", 0) == raw.prompt("direct", 0)
    plain = open_model(make_model("gpt2", template=None))
    assert "<|" not in plain.tokenizer.decode(Interview(plain, ASKED, ASKING).prompt("meta", 0))


def test_the_threshold_compares_the_two_words_in_one_pass(make_model):
    loaded = open_model(make_model("llama"))
    heard = Interview(loaded, ASKED, replace(ASKING, meta="threshold")).ask()
    plain = Interview(loaded, ASKED, ASKING)
    assert [each.direct for each in heard] == [each.direct for each in plain.ask()]
    yes, no = (loaded.tokenizer(word, add_special_tokens=False)["input_ids"][0] for word in ("Yes", "No"))
    for place, each in enumerate(heard):
        with torch.no_grad():
            scores = loaded.model(torch.tensor([plain.prompt("meta", place)])).logits[0, -1]
        assert each.certainty == pytest.approx(float((scores[yes] - scores[no]).sigmoid()), abs=1e-5)
        assert each.yes == (each.certainty > 0.5)
    with pytest.raises(StudyError, match="tokens for this model"):
        Interview(loaded, ASKED, replace(ASKING, meta="threshold", language="zh"))


def test_a_prompt_that_leaves_no_room_and_a_folder_without_a_model_are_named(make_model, tmp_path):
    loaded = open_model(make_model("llama"))
    with pytest.raises(StudyError, match="question q7"):
        Interview(loaded, [Question("q7", "why? " * 200, ("a",))], ASKING).ask()
    with pytest.raises(StudyError, match=r"config\.json"):
        open_model(tmp_path)


def test_numbers_are_those_of_the_counts():
    heard = [
        Heard("Rome", "Yes", True, True, certainty=0.9),
        Heard("Rome", "No", True, False, certainty=0.4),
        Heard("x", "Yes", False, True, certainty=0.6),
        Heard("x", "hm", False, False, valid=False, certainty=1.0),
    ]
    found = measured(heard)
    assert found["accuracy"].value == found["yfr"].value == 0.5
    assert found["auroc2"].value == pytest.approx(0.25)
    assert found["d_type2"].value == pytest.approx(0)
    assert measured([])["accuracy"].value is None


def test_questions_are_read_from_every_form(tmp_path):
    path = tmp_path / "own.jsonl"
    rows = [
        {"id": "x", "question": "A?", "answers": ["a", "b"]},
        {"question": "B?", "answer": "c"},
        {"questions": {"en": "C?", "ko": "ㄷ?"}, "answers": {"en": ["d"], "ko": ["ㄷ"]}, "question_id": "z"},
        {"questions": {"ko": "ㄹ?"}, "answers": {"ko": []}},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    wanted = [Question("x", "A?", ("a", "b")), Question("1", "B?", ("c",)), Question("z", "C?", ("d",))]
    assert questions.load_questions(str(path)) == wanted
    assert questions.load_questions(str(path), "ko")[-1] == Question("3", "ㄹ?", ())
    questions.write_questions(path, wanted)
    assert questions.load_questions(str(path)) == wanted
    assert len(questions.load_questions("sample", "es")) > 50
    for wrong, said in (
        ('{"question": "A?", "answers": 3}\n', ":1: not a row of this set .* answers"),
        ('{"answers": "a"}\n', ":1: not a row of this set .*'question'"),
        ("", ": no question has an accepted answer"),
    ):
        path.write_text(wrong)
        with pytest.raises(SourceError, match=rf"own\.jsonl{said}"):
            questions.load_questions(str(path))
    path.write_text('{"questions": {"ko": "ㄹ?"}, "answers": {"ko": ["ㄹ"]}}')
    with pytest.raises(StudyError, match='no question in language "en"'):
        questions.load_questions(str(path))


def test_held_out_questions_are_never_trained_on():
    doubled = [*ASKED, *(each._replace(id=f"again-{each.id}") for each in ASKED)]
    kept, held = questions.split(doubled, 0.3, 1)
    assert not {each.text for each in kept} & {each.text for each in held}
    assert len(held) == 6
    assert questions.split(doubled, 0.3, 1) == (kept, held)
    with pytest.raises(StudyError, match="cannot be split"):
        questions.split(ASKED[:1], 0.5, 0)
    again = [Question("9", "what is  NUMBER 3? ", ()), Question("8", "Other?", ())]
    with pytest.raises(StudyError, match=r"h\.jsonl: 1 of its 2 questions are trained on too, as"):
        questions.refuse_overlap(again, ASKED, "h.jsonl")
