"""Training as a part of a study: made once, made anew when the study says otherwise, never written over."""

import polars as pl
import pytest

from metacog_pipeline.benchmarks.selfknowledge.training import stage
from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import load_study
from tests.selfknowledge.training.conftest import write_questions

pytestmark = pytest.mark.usefixtures("short_base")
HEAD = (
    '[study]\nname = "teach"\n[benchmarks.selfknowledge]\n[[models]]\nname = "sim"\nprovider = "simulated"\n'
)


@pytest.fixture
def study(tmp_path):
    def write(section):
        path = tmp_path / "study.toml"
        path.write_text(HEAD + section)
        return load_study(path)

    return write


def test_the_toy_is_made_step_by_step_and_only_once(study, tmp_path):
    found = study("[training]\ngenerations = 2\npopulation = 4\nevaluate_every = 1\n")
    base = stage.make_base(found)
    assert base.facts["weights"] == 32_352
    made = stage.make_checkpoint(found)
    assert made.table.height == 3
    assert (tmp_path / "teach-home" / "training" / "run" / "last" / "model.safetensors").is_file()
    again = stage.make_checkpoint(found)
    assert (again.digest, again.facts) == (made.digest, made.facts)
    numbers = stage.make_evaluation(found).table
    assert set(numbers["model"]) == {"base", "trained"}
    assert {"d_type2", "auroc2", "accuracy"} <= set(numbers["measure"])
    assert pl.read_parquet(tmp_path / "teach-home" / "training" / "evaluation.parquet").equals(numbers)


def test_settings_that_are_none_are_refused_before_anything_is_made(study, tmp_path):
    for wrong in ("sigma = 1e-300", 'reward = "1E308,1,1,1"'):
        with pytest.raises(StudyError, match=r"a number from|four numbers"):
            stage.make_base(study(f"[training]\n{wrong}\n"))
    assert not (tmp_path / "teach-home").exists()


def test_questions_that_are_trained_on_are_not_held_out(study, make_model, tmp_path):
    write_questions(tmp_path / "q.jsonl")
    model = f'model = "{make_model("llama")}"\nquestions = "q.jsonl"\nheld_out = "q.jsonl"\n'
    with pytest.raises(StudyError, match=r"q\.jsonl: 10 of its 10 questions are trained on too"):
        stage.recipe_of(study(f"[training]\n{model}"))


def test_a_run_under_other_settings_is_made_anew_and_the_old_one_set_aside(study, tmp_path):
    first = "[training]\ngenerations = 1\npopulation = 2\n"
    stage.make_base(study(first))
    made = stage.make_checkpoint(study(first))
    other = stage.make_checkpoint(study(f"{first}sigma = 0.1\n"))
    assert other.digest != made.digest
    assert (tmp_path / "teach-home" / "training" / "run-1" / "commits.jsonl").is_file()
    back = stage.make_checkpoint(study(first))
    assert back.digest == made.digest


def test_a_model_of_ones_own_is_evolved(study, make_model, tmp_path):
    write_questions(tmp_path / "q.jsonl")
    found = study(
        f'[training]\nmodel = "{make_model("llama")}"\nquestions = "q.jsonl"\ngenerations = 2\npopulation = 4\n'
        "sigma = 0.05\nbatch = 3\nmax_tokens = 3\n"
    )
    stage.make_base(found)
    made = stage.make_checkpoint(found)
    assert (tmp_path / "teach-home" / "training" / "run" / "last" / "config.json").is_file()
    assert made.facts["generations"] == 2
    assert stage.make_evaluation(found).table["n"].max() == 3


def test_what_is_not_said_is_as_published_or_as_fits_the_toy(study):
    toy = stage.settings(study("[training]\nalpha = 0.5\n"))
    assert (toy.alpha, toy.sigma, toy.antithetic) == (0.5, 0.02, True)
    own = stage.settings(study('[training]\nmodel = "somewhere"\nreward = "meta"\n'))
    assert (own.sigma, own.alpha, own.population, own.batch, own.generations) == (1e-3, 5e-4, 32, 256, 750)
    assert own.reward == "meta"


def test_a_study_that_trains_nothing_says_so(study):
    with pytest.raises(StudyError, match=r"\[training\]"):
        stage.section(study(""))
    with pytest.raises(StudyError, match=r"training\.sigma"):
        study("[training]\nsigma = -1.0\n")
    with pytest.raises(StudyError, match=r"training\.device"):
        study('[training]\ndevice = "tpu"\n')
    with pytest.raises(StudyError, match="praise"):
        stage.settings(study('[training]\nreward = "praise"\n'))
