"""The supervised baselines learn what they are meant to; evaluations count what was said."""

import csv
import json
import math
import re
from dataclasses import replace

import pytest
import torch
from click.testing import CliRunner

from metacog_pipeline.benchmarks.selfknowledge.training import command_options
from metacog_pipeline.benchmarks.selfknowledge.training.causal import evaluate, sft
from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Asking, Heard, Interview
from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import open_model
from metacog_pipeline.benchmarks.selfknowledge.training.causal.questions import Question
from metacog_pipeline.benchmarks.selfknowledge.training.causal.sft import Tuning, tune
from metacog_pipeline.benchmarks.selfknowledge.training.commands import train as command
from metacog_pipeline.errors import MetacogError, StudyError
from tests.selfknowledge.training.conftest import no_space, write_questions

ASKING = Asking(max_tokens=3)
QUESTIONS = tuple(Question(str(i), f"Number {i}?", ("Rome",)) for i in range(6))


def interview(make_model, kind="llama", **changed):
    return Interview(open_model(make_model(kind)), QUESTIONS, replace(ASKING, **changed))


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_answers_can_be_learnt(make_model, kind):
    asked = interview(make_model, kind)
    assert not any(asked.right(range(6)))
    losses = tune(asked, Tuning("answers", steps=30, batch=6, rate=1e-2))
    assert losses[-1] < losses[0]
    assert all(asked.right(range(6)))
    assert not asked.loaded.model.training


def test_meta_labels_are_whether_the_model_is_right_as_it_is_now(make_model):
    asked = interview(make_model)
    assert sft._words(asked, range(6)) == ["No"] * 6
    tune(asked, Tuning("answers", steps=30, batch=6, rate=1e-2))
    assert sft._words(asked, range(6)) == ["Yes"] * 6
    tune(asked, Tuning("meta", steps=20, batch=6, rate=5e-3))
    heard = asked.ask()
    assert [each.yes for each in heard] == [each.correct for each in heard]


@pytest.mark.parametrize("loss_on", ["answer", "all"])
def test_the_loss_is_on_the_target_or_on_everything_but_the_filling(make_model, loss_on):
    asked = interview(make_model)
    asked._prompts["direct", 0] = asked.prompt("direct", 0)[4:]  # prompts of two lengths
    tuning = Tuning("answers", loss_on=loss_on)
    ids, mask, labels = sft.rows(asked, range(6), tuning, 0)
    target = [
        *asked.loaded.tokenizer("Rome", add_special_tokens=False)["input_ids"],
        asked.loaded.stop_ids[0],
    ]
    for row in range(6):
        learnt = labels[row][labels[row] != -100].tolist()
        assert learnt == (target if loss_on == "answer" else ids[row][mask[row] == 1].tolist())
        assert ids[row].tolist()[-len(target) :] == target
    assert mask[0].sum() == mask[1].sum() - 4


def test_the_rate_rises_then_falls_to_nothing():
    shares = [sft.share(step, 100, 0.1) for step in range(100)]
    assert shares[0] == pytest.approx(0.1)
    assert max(shares) == shares[9] == shares[10] == 1
    assert shares[99] == pytest.approx(1 / 90)
    assert sft.share(0, 5, 0.0) == 1


def test_a_model_of_16_bits_is_trained_in_float32_and_stays_of_16_bits(make_model):
    loaded = open_model(make_model("llama"), dtype="bfloat16")
    before = loaded.model.get_input_embeddings().weight.detach().clone()
    tune(Interview(loaded, QUESTIONS, ASKING), Tuning("answers", steps=40, batch=4, rate=1e-4))
    after = loaded.model.get_input_embeddings().weight.detach()
    assert after.dtype == torch.bfloat16
    assert not torch.equal(before, after)


def test_tuning_that_makes_no_sense_is_refused(make_model):
    wrong = [("steps", 0), ("batch", 0), ("warm_up", 2.0), ("warm_up", math.nan)]
    for name, value in [*wrong, *(("rate", each) for each in (0.0, -1e-5, math.nan, math.inf, 1e300))]:
        said = f"--{name.replace('_', '-')} {value}: a number from "
        with pytest.raises(StudyError, match=re.escape(said)):
            Tuning(**{name: value})
    nothing = Interview(open_model(make_model("llama")), [Question("n", "?", ())], ASKING)
    with pytest.raises(StudyError, match="question n"):
        tune(nothing, Tuning("answers", steps=1))


def test_a_loss_that_overflows_ends_the_training_in_one_line_and_spoils_no_weight(make_model):
    asked = interview(make_model)
    model = asked.loaded.model
    with torch.no_grad():
        model.get_output_embeddings().weight.fill_(3e38)
    before = model.get_input_embeddings().weight.clone()
    with pytest.raises(
        MetacogError, match=r"step 1 of 3: the loss is no finite number; take a smaller --rate"
    ):
        tune(asked, Tuning("answers", steps=3))
    assert torch.equal(model.get_input_embeddings().weight, before)


HEARD = [
    Heard("Rome", "Yes", True, True, certainty=0.9),
    Heard("Rome", "No", True, False, certainty=0.4),
    Heard("x", "Yes", False, True, certainty=0.6),
    Heard("x", "hm", False, False, valid=False, certainty=1.0),
]


def test_the_table_has_a_row_per_question_and_sentinels(tmp_path):
    rows = evaluate.table(QUESTIONS[:4], HEARD)
    assert rows["yes_failures"].to_list() == [0, -100, 1, -100]
    assert rows["no_failures"].to_list() == [-100, 1, -100, 0]
    assert rows["meta_alignments"].to_list() == [1, 0, 0, 1]
    assert rows["yes_over_no"].to_list() == pytest.approx([9, 2 / 3, 1.5, math.inf])
    evaluate.write_table(tmp_path / "t.tsv", rows)
    with (tmp_path / "t.tsv").open(newline="") as file:
        again = list(csv.DictReader(file, delimiter="\t"))
    assert json.loads(again[0]["ground_truths"]) == ["Rome"]
    assert again[2]["direct_correctness"] == "0"


def test_numbers_are_those_of_the_counts():
    found = evaluate.measured(HEARD)
    assert found["accuracy"].value == 0.5
    assert found["yfr"].value == 0.5
    assert found["auroc2"].value == pytest.approx(0.25)
    assert found["d_type2"].value == pytest.approx(0)
    idk = [replace(each, yes=True) for each in HEARD]
    assert evaluate.all_alignment(HEARD, idk) == 0.25
    assert evaluate.all_alignment([], []) is None
    assert evaluate.measured([])["accuracy"].value is None


def test_idk_is_asked_in_english_only(make_model):
    loaded = open_model(make_model("llama"))
    heard = evaluate.hear(loaded, QUESTIONS, ASKING, "idk")
    assert {each.meta for each in heard} <= {"yes", "no"}
    with pytest.raises(StudyError, match="English only"):
        evaluate.hear(loaded, QUESTIONS, replace(ASKING, language="ko"), "idk")


def test_without_the_extra_a_command_says_what_to_install(monkeypatch):
    monkeypatch.setattr(command_options, "find_spec", lambda name: None)
    with pytest.raises(StudyError, match=r"torch.*metacog-pipeline\[train\]"):
        CliRunner().invoke(command, ["toy"], catch_exceptions=False)


def test_the_commands_tune_patch_and_evaluate(make_model, tmp_path, monkeypatch):
    path = write_questions(tmp_path / "q.jsonl", ["Rome"], [each.text for each in QUESTIONS])
    asked = ["--questions", path, "--max-tokens", "3", "--quiet"]
    base, tuned = str(make_model("llama")), str(tmp_path / "tuned")

    def run(*words):
        done = CliRunner().invoke(command, [*words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    steps = ["--kind", "answers", "--steps", "30", "--batch", "4", "--rate", "0.01"]
    assert "tuned" in run("sft", "--model", base, "--output", tuned, *asked, *steps)
    output = tmp_path / "patched"
    shown = run(
        "patch", "--base", base, "--tuned", tuned, *asked, "--ratios", "0,50,100", "--output", str(output)
    )
    assert "top 50 %" in shown
    heard = run("evaluate", "--model", str(output), *asked, "--setting", "dual", "--setting", "idk")
    assert "all alignment" in heard
    run("evaluate", "--model", tuned, *asked, "--setting", "threshold", "--output", str(tmp_path / "out"))
    assert (tmp_path / "out" / "threshold.tsv").is_file()
    full = ["sft", "--model", base, "--output", str(tmp_path / "whole"), *asked, *steps[:2], "--steps", "1"]
    monkeypatch.setattr("transformers.modeling_utils.safe_save_file", no_space)
    with pytest.raises(OSError, match="No space left on device"):
        CliRunner().invoke(command, full, catch_exceptions=False)
    assert not [each for each in tmp_path.iterdir() if "whole" in each.name]
    with pytest.raises(StudyError, match="there already"):
        CliRunner().invoke(
            command, ["sft", "--model", base, "--output", tuned, *asked], catch_exceptions=False
        )
