"""Any causal language model in a folder can be evolved; what comes out is such a folder again."""

import json
from dataclasses import replace

import polars as pl
import pytest
import torch
import transformers
from click.testing import CliRunner

from metacog_pipeline.benchmarks.selfknowledge.training import curves
from metacog_pipeline.benchmarks.selfknowledge.training.causal import generation, questions
from metacog_pipeline.benchmarks.selfknowledge.training.causal.evolve import Means, evolve
from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Asking, Interview
from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import open_model, read_model
from metacog_pipeline.benchmarks.selfknowledge.training.causal.questions import Question
from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe
from metacog_pipeline.benchmarks.selfknowledge.training.commands import train as command
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings
from metacog_pipeline.benchmarks.selfknowledge.training.log import Log
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker
from metacog_pipeline.errors import MetacogError, SourceError, StoreError, StudyError
from metacog_pipeline.llm.local.generation import answer_batch
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling
from tests.selfknowledge.training.conftest import no_space, write_questions

KINDS = ("llama", "gpt2")
SETTINGS = Settings(sigma=0.1, alpha=0.05, population=8, batch=5, generations=3, reward="direct", seed=1)
ASKING = Asking(max_tokens=4)
LETTERS = tuple("abcdef")  # random models say some of them now and then, so that rewards differ
ASKED = tuple(Question(str(i), f"What is number {i}?", LETTERS) for i in range(10))
TRAINING, HELD_OUT = ASKED[:7], ASKED[7:]


@pytest.fixture
def folder(make_model, request):
    return make_model(request.param)


def recipe(folder, **changed):
    return CausalRecipe(folder, TRAINING, HELD_OUT, ASKING, **{"settings": SETTINGS, **changed})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_model_evolves_and_its_checkpoint_is_a_model_folder(make_model, kind, dtype, tmp_path):
    base = make_model(kind)
    made = evolve(recipe(base, dtype=dtype), tmp_path / "run", Means(master="file"), checkpoint_every=2)
    assert Log(made.folder).checkpoints() == [2, 3]
    again = open_model(made.checkpoint)
    assert again.model.dtype == getattr(torch, dtype)
    worker = Worker(recipe(made.checkpoint, dtype=dtype))
    assert worker.load(made.checkpoint) == made.digest == Log(made.folder).read()[-1].commit.digest
    assert any(set(each.commit.z) != {0.0} for each in Log(made.folder).read()), [
        (each.outcome, each.commit.fitness) for each in Log(made.folder).read()
    ]
    before, after = (read_model(each, "float32") for each in (base, made.checkpoint))
    assert any(not torch.equal(before[name], after[name]) for name in before)
    assert again.tokenizer.chat_template == open_model(base).tokenizer.chat_template
    assert pl.read_parquet(made.folder / curves.FILE).height == 4
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("kind", KINDS)
def test_resumed_it_ends_with_the_same_weights(make_model, kind, tmp_path):
    base = make_model(kind)
    whole = evolve(recipe(base), tmp_path / "whole", checkpoint_every=2)

    def stop(done):
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evolve(recipe(base), tmp_path / "cut", checkpoint_every=2, done=stop)
    assert evolve(recipe(base), tmp_path / "cut", checkpoint_every=2, resume=True).digest == whole.digest
    with pytest.raises(StudyError, match="other questions"):
        evolve(replace(recipe(base), training=ASKED[1:7]), tmp_path / "cut", resume=True)


@pytest.mark.proof
def test_two_processes_evolve_a_language_model_as_one_does(make_model, tmp_path):
    base = make_model("llama")
    one = evolve(recipe(base), tmp_path / "one")
    two = evolve(recipe(base), tmp_path / "two", Means(workers=2))
    assert two.digest == one.digest


def test_tied_tensors_are_one_and_evaluation_mode_is_on(make_model):
    trainee = recipe(make_model("gpt2")).build()
    model = trainee.model
    assert not model.training
    names = dict(model.named_parameters())
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
    assert "lm_head.weight" not in names


@pytest.mark.parametrize("kind", KINDS)
def test_batched_greedy_answers_are_those_of_the_provider_and_of_the_library(make_model, kind):
    loaded = open_model(make_model(kind))
    interview = Interview(loaded, ASKED, ASKING)
    prompts = [interview.prompt("direct", place) for place in range(10)]
    # Prompts of different lengths are filled up on the left.
    prompts[0], prompts[1] = prompts[0][5:], prompts[1][9:]
    said = generation.answers(loaded, prompts, 6, rows=4)
    for prompt, text in zip(prompts, said, strict=True):
        ids = torch.tensor([prompt])
        out = loaded.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=6,
            pad_token_id=loaded.tokenizer.pad_token_id,
        )
        assert text == loaded.tokenizer.decode(out[0, len(prompt) :], skip_special_tokens=True)
    texts = [Message("user", interview._wording.text(each.text, "en", "direct")) for each in ASKED]
    asked = [ChatRequest((each,), Sampling(temperature=0.0, max_tokens=4)) for each in texts]
    theirs = [each.text for each in answer_batch(loaded, asked)]
    assert [each.direct for each in interview.ask()] == theirs


def test_the_meta_question_goes_through_the_chat_template_unless_told_otherwise(make_model):
    loaded = open_model(make_model("llama"))
    chat, raw = (Interview(loaded, ASKED, replace(ASKING, meta_chat=each)) for each in (True, False))
    texts = [loaded.tokenizer.decode(each.prompt("meta", 0)) for each in (chat, raw)]
    assert texts[0].startswith("<|user|>")
    assert texts[0].endswith("<|assistant|>")
    assert "<|" not in texts[1]
    assert chat.prompt("direct", 0) == raw.prompt("direct", 0)
    assert loaded.tokenizer.decode(chat.prompt("direct", 0)).startswith("<|user|>")


def test_without_a_template_the_plain_text_is_asked(make_model):
    loaded = open_model(make_model("gpt2", template=None))
    assert loaded.tokenizer.decode(Interview(loaded, ASKED, ASKING).prompt("meta", 0)).count("<|") == 0


def test_the_threshold_compares_the_two_words_in_one_pass(make_model):
    loaded = open_model(make_model("llama"))
    heard = Interview(loaded, ASKED, replace(ASKING, meta="threshold")).ask()
    plain = Interview(loaded, ASKED, ASKING).ask(certainty=True)
    for a, b in zip(heard, plain, strict=True):
        assert a.yes == (a.certainty > 0.5)
        assert a.certainty == pytest.approx(b.certainty)
        assert a.direct == b.direct
    with pytest.raises(StudyError, match="tokens for this model"):
        Interview(loaded, ASKED, replace(ASKING, meta="threshold", language="zh"))


def test_a_prompt_that_leaves_no_room_is_named(make_model):
    loaded = open_model(make_model("llama"))
    long = Question("q7", "why? " * 200, ("a",))
    with pytest.raises(StudyError, match="question q7"):
        Interview(loaded, [long], ASKING).ask()


def test_questions_are_read_from_every_form(tmp_path):
    path = tmp_path / "own.jsonl"
    rows = [
        {"id": "x", "question": "A?", "answers": ["a", "b"]},
        {"question": "B?", "answer": "c"},
        {"questions": {"en": "C?", "ko": "ㄷ?"}, "answers": {"en": ["d"], "ko": ["ㄷ"]}, "question_id": "z"},
        {"questions": {"ko": "ㄹ?"}, "answers": {"ko": []}},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert questions.load_questions(str(path)) == [
        Question("x", "A?", ("a", "b")),
        Question("1", "B?", ("c",)),
        Question("z", "C?", ("d",)),
    ]
    korean = questions.load_questions(str(path), "ko")
    assert korean[-1] == Question("3", "ㄹ?", ())
    assert questions.answerable(korean) == korean[:-1]
    path.write_text('{"question": "A?", "answers": 3}\n')
    with pytest.raises(SourceError, match=r"own\.jsonl"):
        questions.load_questions(str(path))
    path.write_text("")
    with pytest.raises(StudyError, match="no question"):
        questions.load_questions(str(path))


def test_held_out_questions_are_never_trained_on():
    doubled = [*ASKED, *(replace(each, id=f"again-{each.id}") for each in ASKED)]
    kept, held = questions.split(doubled, 0.3, 1)
    assert not {each.text for each in kept} & {each.text for each in held}
    assert len(held) == 6
    assert questions.split(doubled, 0.3, 1) == (kept, held)
    with pytest.raises(StudyError, match="cannot be split"):
        questions.split(ASKED[:1], 0.5, 0)


def test_questions_that_are_trained_on_are_not_held_out(make_model, tmp_path):
    trained = write_questions(tmp_path / "q.jsonl")
    held = write_questions(tmp_path / "h.jsonl", texts=("Other?", " number  3? ", "Number 4?"))
    given = ["--model", str(make_model("llama")), "--questions", trained, "--output", str(tmp_path / "run")]
    for kind in ("esma", "sft"):
        with pytest.raises(StudyError, match=r"h\.jsonl: 2 of its 3 questions are trained on too, as"):
            CliRunner().invoke(command, [kind, *given, "--held-out", held], catch_exceptions=False)
    assert not (tmp_path / "run").exists()
    other = questions.load_questions(write_questions(tmp_path / "o.jsonl", texts=("Other?",)))
    assert questions.apart(other, questions.load_questions(trained), "o.jsonl") == tuple(other)


@pytest.mark.parametrize("option", ["--held-out-share", "--gpus-per-worker"])
@pytest.mark.parametrize("value", ["nan", "inf", "-1"])
def test_a_number_that_is_none_is_refused_by_name(option, value):
    given = ["--model", "m", "--questions", "q", "--output", "o", option, value]
    done = CliRunner().invoke(command, ["esma", *given])
    assert done.exit_code == 2
    assert option in done.output


def test_a_full_disk_is_one_line_and_what_was_done_is_gone_on_with(make_model, tmp_path, monkeypatch):
    one = recipe(make_model("llama"))
    with monkeypatch.context() as patch:
        patch.setattr("transformers.modeling_utils.safe_save_file", no_space)
        for resume in (False, True):
            with pytest.raises(StoreError) as told:
                evolve(one, tmp_path / "run", resume=resume, checkpoint_every=2)
            where = tmp_path / "run" / "checkpoints" / "000002"
            assert str(told.value) == f"{where}: No space left on device; free space, then go on (--resume)"
            assert not list((tmp_path / "run" / "checkpoints").iterdir())
    made = evolve(one, tmp_path / "run", resume=True, checkpoint_every=2)
    assert made.digest == evolve(one, tmp_path / "whole", checkpoint_every=2).digest


def test_the_command_trains_and_says_what_changed(make_model, tmp_path):
    path = write_questions(tmp_path / "q.jsonl", LETTERS, [each.text for each in ASKED])
    base = ["esma", "--model", str(make_model("llama")), "--questions", path, "--max-tokens", "4", "--quiet"]
    sizes = ["--population", "2", "--batch", "3", "--sigma", "0.05"]
    out = ["--output", str(tmp_path / "run")]
    runner = CliRunner()
    done = runner.invoke(command, [*base, *sizes, *out, "--generations", "1"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "trained" in done.output
    assert "000001" in done.output
    more = runner.invoke(
        command, [*base, *sizes, *out, "--generations", "2", "--resume"], catch_exceptions=False
    )
    assert "000002" in more.output
    missing = runner.invoke(command, [*base[:2], str(tmp_path), *base[3:], *out])
    assert isinstance(missing.exception, MetacogError)
    assert "config.json" in str(missing.exception)


def test_transformers_is_the_release_the_package_asks_for():
    assert int(transformers.__version__.split(".")[0]) >= 5
