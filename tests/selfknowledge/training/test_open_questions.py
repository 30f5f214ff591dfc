"""Patch curve, ablations and generalisation: one command each, a table with intervals and a picture."""

import json

import polars as pl
import pytest
from click.testing import CliRunner

from metacog_pipeline.benchmarks.selfknowledge.training import open_questions
from metacog_pipeline.benchmarks.selfknowledge.training.commands import train as command
from metacog_pipeline.errors import StudyError
from metacog_pipeline.stats.estimate import Estimate, unavailable
from metacog_pipeline.study import load_study
from tests.selfknowledge.training.conftest import write_questions
from tests.selfknowledge.training.test_stage import HEAD

pytestmark = pytest.mark.usefixtures("short_base")
TOY = "[training]\ngenerations = 2\npopulation = 4\nbatch = 32\n"


def asked(tmp_path, section, *options):
    path = tmp_path / "study.toml"
    path.write_text(HEAD + section)
    done = CliRunner().invoke(command, ["study", str(path), "--quiet", "--json", *options])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return json.loads(done.stdout), tmp_path / "teach-home" / "training"


def test_the_patch_curve_sets_float32_beside_bfloat16(tmp_path, monkeypatch):
    monkeypatch.setattr(open_questions, "RATIOS", (0.0, 0.1, 1.0))
    found, home = asked(tmp_path, TOY, "--patch-curve")
    table = pl.DataFrame(found["patch_curve"], infer_schema_length=None)
    d = table.filter(pl.col("measure") == "accuracy")
    assert d["dtype"].to_list() == ["float32"] * 3 + ["bfloat16"] * 3
    assert d["weights"].to_list() == [0, 3235, 32352] * 2
    changed = dict(zip(d["dtype"], d["changed"], strict=True))
    assert changed["float32"] > 0.9
    assert changed["bfloat16"] < changed["float32"]  # steps below half a unit in the last place
    ends = d.filter(pl.col("share").is_in([0.0, 1.0]))
    assert ends["low"].null_count() == 0
    assert (home / "patch_curve.svg").is_file()
    again, _ = asked(tmp_path, TOY, "--patch-curve")
    assert again["patch_curve"] == found["patch_curve"]


def test_ablations_stand_in_one_table_with_intervals_over_seeds(tmp_path):
    found, home = asked(tmp_path, TOY, "--ablations", "--seeds", "2")
    table = pl.DataFrame(found["ablations"], infer_schema_length=None)
    models = table["model"].unique(maintain_order=True).to_list()
    assert models == ["base", "joint", "direct", "meta", "dprime", "sft meta, 60 steps"]
    right = table.filter(pl.col("measure") == "accuracy")
    assert right["seeds"].to_list() == [2] * 6
    assert right["low"].null_count() == 0
    assert (home / "ablations.svg").is_file()


def test_what_is_undefined_under_a_seed_is_left_out_and_said():
    some = Estimate(1.0, 0.5, 1.5, 9, "m")
    none = unavailable(9, "m", "all wrong")
    assert open_questions.over_seeds([none])["estimate"] is None
    assert open_questions.over_seeds([some])["low"] is None
    two = open_questions.over_seeds([some, Estimate(2.0, None, None, 9, "m"), none])
    assert two["status"] == "undefined under 1 of 3 seeds"
    assert two["estimate"] == pytest.approx(1.5)
    assert two["high"] - two["estimate"] == pytest.approx(12.706 * 0.7071 / 2**0.5, rel=1e-3)


def test_a_model_is_asked_every_set_and_language_it_was_not_trained_on(tmp_path, make_model, monkeypatch):
    whole = open_questions.load_questions
    monkeypatch.setattr(
        open_questions, "load_questions", lambda source, language: whole(source, language)[:3]
    )
    write_questions(tmp_path / "q.jsonl")
    section = (
        f'[training]\nmodel = "{make_model("llama")}"\nquestions = "q.jsonl"\ngenerations = 1\npopulation = 2\n'
        "sigma = 0.05\nbatch = 3\nmax_tokens = 2\n"
    )
    found, home = asked(tmp_path, section, "--generalisation")
    table = pl.DataFrame(found["generalisation"], infer_schema_length=None)
    assert set(table["language"]) == {"en", "zh", "ko", "es"}
    assert set(table["model"]) == {"base", "trained"}
    assert (home / "generalisation.svg").is_file()
    study = load_study(tmp_path / "study.toml")
    one, other = (open_questions._question_sets(study, texts) for texts in (set(), set()))
    seen = {one["sample", "en"][0].text}
    assert len(open_questions._question_sets(study, seen)["sample", "en"]) == len(other["sample", "en"]) - 1


def test_the_toy_has_no_other_questions(tmp_path):
    with pytest.raises(StudyError, match="no other question sets"):
        asked(tmp_path, TOY, "--generalisation")
    assert not (tmp_path / "teach-home" / "training").exists()  # nothing was trained for it
