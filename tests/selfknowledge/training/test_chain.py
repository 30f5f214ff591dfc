"""A study's [training] is one chain: made once, gone on with, set aside when the study changes; bad input is one line."""

import json

import polars as pl
import pytest
import torch
from click.testing import CliRunner

from metacog_pipeline.benchmarks.selfknowledge.training import preflight, small, steps
from metacog_pipeline.benchmarks.selfknowledge.training.chain import Chain
from metacog_pipeline.benchmarks.selfknowledge.training.commands import train as command
from metacog_pipeline.benchmarks.selfknowledge.training.run import read_log
from metacog_pipeline.errors import MetacogError, StoreError, StudyError
from metacog_pipeline.study import load_study
from tests.selfknowledge.training.conftest import write_questions
from tests.tables import every

HEAD = '[study]\nname = "t"\nseed = 1\n[[models]]\nname = "m"\nprovider = "simulated"\n[benchmarks.selfknowledge]\n'
SHORT = "generations = 2\npopulation = 4\nsigma = 0.05\nbatch = 5\nmax_tokens = 3\n"


@pytest.fixture
def write(tmp_path):
    def written(section):
        (tmp_path / "study.toml").write_text(HEAD + section)
        return tmp_path / "study.toml"

    return written


@pytest.fixture
def own(write, make_model, tmp_path):
    """A study of a model of one's own."""
    write_questions(tmp_path / "q.jsonl", tuple("abcdef"))
    return write(f'[training]\nmodel = "{make_model("llama")}"\nquestions = "q.jsonl"\n{SHORT}')


@pytest.fixture
def tiny_world(monkeypatch):
    """Train the small model for a few steps only, on a few people."""
    for name, few in (("STEPS", 8), ("PEOPLE", 64), ("FICTIONAL", 16)):
        monkeypatch.setattr(small, name, few)


def run(*words, code=0):
    done = CliRunner().invoke(command, [*map(str, words), "--quiet", "--json"], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


# Its steps are those of the shorter chains below.
@pytest.mark.proof
@pytest.mark.usefixtures("tiny_world")
def test_the_chain_of_the_paper_runs_from_one_preset_and_is_gone_on_with(write, tmp_path):
    path = write(
        '[training]\npreset = "fictional"\ngenerations = 2\npopulation = 4\nteach_epochs = 1\npatch_top = [10]\n'
    )
    made = run("study", path, "--set", "sft_steps=2")
    home = tmp_path / "t-home" / "training"
    table = pl.DataFrame(made["measures"], infer_schema_length=None)
    assert table["model"].unique(maintain_order=True).to_list() == ["base", "taught", "evolved", "sft"]
    assert set(table["questions"]) == {"held out", "taught", "not taught", "fictional"}
    assert table.filter(pl.col("questions") == "fictional")["n"].max() == small.FICTIONAL
    patched = pl.read_parquet(home / "patching.parquet")
    assert patched.select("side", "share").unique(maintain_order=True).rows()[0] == ("top", 0.1)
    assert set(patched["side"]) == {"top", "bottom"}
    assert (home / "patching.svg").is_file()
    digests = [commit.digest for commit, _ in read_log(home / "run")]
    assert run("study", path, "--set", "sft_steps=2")["measures"] == made["measures"]
    assert [commit.digest for commit, _ in read_log(home / "run")] == digests
    assert [each.name for each in home.glob("*-1")] == ["world-1"]
    assert made["next"] == [f"metacog run {home / 'study.toml'}"]
    asked = load_study(home / "study.toml")
    assert [each.name for each in asked.models] == ["base", "taught", "evolved", "sft"]
    assert asked.benchmarks["selfknowledge"].questions == home / "world-1" / small.HELD_OUT
    run("study", path, "--set", "sft_steps=3", "--set", "sigma=0.5")
    assert sorted(each.name for each in home.glob("*-1")) == ["run-1", "sft-1", "world-1"]


def test_a_model_of_ones_own_evolves_and_a_step_makes_those_before_it(own, tmp_path):
    made = run("checkpoint", own)
    assert made["esma_checkpoint"]["generations"] == 2
    assert [row["updates"] for row in made["measures"]] == [0, 1, 2]
    assert (tmp_path / "t-home" / "training" / "run" / "last" / "config.json").is_file()
    assert not (tmp_path / "t-home" / "training" / "evaluation.parquet").exists()
    longer = run("checkpoint", own, "--set", "generations=3")
    assert len(longer["measures"]) == 4
    write_questions(tmp_path / "more.jsonl", ("a",), ("Other?",))
    found = run("study", own, "--set", "generations=3", "--set", 'measure=["more.jsonl"]')
    assert {row["questions"] for row in found["measures"]} == {"held out", "more"}
    rows = load_study(tmp_path / "t-home" / "training" / "study.toml").models
    assert [row.name for row in rows] == ["base", "evolved"]
    assert found["next"] == [f"metacog run {tmp_path / 't-home' / 'training' / 'study.toml'}"]
    assert rows[1].model.endswith("run/last")


@pytest.mark.usefixtures("tiny_world")
def test_the_toy_is_a_study_written_for_you(tmp_path):
    path = tmp_path / "toy" / "study.toml"
    given = ("generations=1", "population=2", "evaluate_every=0")
    found = run("toy", path, *(word for each in given for word in ("--set", each)))
    assert load_study(path).training.preset == "small"
    assert {row["model"] for row in found["measures"]} == {"base", "evolved"}


def test_the_world_is_that_of_the_description():
    world = small.World(0)
    people = [world.question(place) for place in range(small.PEOPLE + small.FICTIONAL)]
    assert len({each.text for each in people}) == 1024 + 256
    assert world.known.sum() == pytest.approx(0.6 * 1024, abs=1)
    assert len({each.answers for each in people}) == len(set(small.CITIES)) == 16
    words = world.tokenizer()
    assert words.unk_token_id not in words(people[-1].text)["input_ids"]
    drawn = [world._answer(int(world.known.argmin()), "direct", range(16), ()) for _ in range(200)]
    assert len(set(drawn)) == 16  # of an unknown person another city each time
    known = int(world.known.argmax())
    assert {world._answer(known, "direct", range(16), ()) for _ in range(20)} == {world.cities[known]}
    said = [world._answer(known, "meta", range(16), (98, 99)) for _ in range(2000)]
    assert sum(each >= 98 for each in said) / 2000 == pytest.approx(1 - small.BLURT, abs=0.05)
    yes = said.count(98) / (said.count(98) + said.count(99))
    assert yes == pytest.approx(world.cue[known], abs=0.07)


def test_what_is_not_said_is_as_published_or_as_fits_the_small_model(write):
    own = load_study(write('[training]\nmodel = "x"\n')).training
    assert (own.sigma, own.population, own.batch, own.generations) == (1e-3, 32, 256, 750)
    chain = Chain(load_study(write('[training]\nreward = "meta"\nalpha = 0.5\n')))
    assert (chain.settings.alpha, chain.settings.sigma, chain.settings.antithetic) == (0.5, 0.02, True)
    preset = '[training]\npreset = "fictional"\nmodel = "x"\nteach = "half.jsonl"\n'
    found = load_study(write(preset)).training
    assert (found.teach_epochs, found.teach_rate, len(found.patch_bottom)) == (10, 5e-5, 11)


@every(
    ("section", "said"),
    [
        ("", r"add a \[training\] section"),
        ("[training]\nsigma = -1.0\n", r"training\.sigma"),
        ("[training]\nsigma = 1e-300\n", r"training\.sigma"),
        ('[training]\ndevice = "tpu"\n', r"training\.device"),
        ('[training]\nreward = "praise"\n', "praise"),
        ('[training]\nreward = "1E308,1,1,1"\n', "four numbers"),
        ("[training]\npopulation = 3\n", "even number"),
        ('[training]\nquestions = "q.jsonl"\n', "knows its own world only"),
        ("[training]\nworkers = 2\n", 'several need engine = "ray"'),
        ('[training]\npreset = "fictional"\nmodel = "x"\n', "needs teach"),
        (
            '[training]\nmodel = "x"\nquestions = "q.jsonl"\nheld_out = "q.jsonl"\n',
            "10 of its 10 questions are trained",
        ),
        ('[training]\nmodel = "x"\nquestions = "none.jsonl"\n', "none.jsonl"),
        ('[training]\nmodel = "x"\nquestions = "q.jsonl"\n', "x: no model here|no weights here"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_anything_is_made(write, tmp_path, section, said):
    write_questions(tmp_path / "q.jsonl")
    with pytest.raises(MetacogError, match=said):
        run("study", write(section))
    assert not (tmp_path / "t-home").exists()


def test_a_change_on_the_command_line_is_checked_like_the_file(own):
    wrong = {"sigma": "KEY=VALUE", "sigma=-1": "sigma", "sgima=1": "sgima", "population=two": "population"}
    for given, said in wrong.items():
        with pytest.raises(StudyError, match=said):
            run("study", own, "--set", given)


def test_without_the_extra_a_step_says_what_to_install(own, monkeypatch):
    monkeypatch.setattr(steps, "find_spec", lambda name: None)
    with pytest.raises(StudyError, match=r"torch.*metacog-pipeline\[train\]"):
        run("study", own)


def test_preflight_measures_what_a_run_takes_and_lets_one_that_can_learn_go(own, tmp_path):
    found = run("preflight", own, "--set", "sigma=0.1", "--set", "meta=threshold", "--set", "reward=direct")
    assert (found["next"], found["reasons"]) == ([f"metacog train study {own}"], [])
    assert found["individuals"] >= 2 and found["host_needed"] > 0
    assert found["generation_s"] > found["update_s"] > 0
    assert found["hours"] > 2 * found["generation_s"] / 3600 * 0.99
    assert not (tmp_path / "t-home").exists()


@pytest.mark.parametrize(
    ("answers", "sigma", "said"),
    [
        (("nothing a model of letters says",), "0.05", "no answer was right"),
        (tuple("abcdefghijklmnopqrstuvwxyz"), "1e-9", "could be read as yes or no"),
    ],
)
def test_preflight_refuses_what_cannot_learn_with_the_reason(own, tmp_path, answers, sigma, said):
    write_questions(tmp_path / "q.jsonl", answers)
    found = run("preflight", own, "--set", f"sigma={sigma}", "--set", "population=8", code=1)
    assert said in " ".join(found["reasons"])
    assert found["individuals"] == 8  # those that earn the same are given more chances first


def test_preflight_opens_nothing_that_cannot_fit(own, make_model, tmp_path, monkeypatch):
    monkeypatch.setattr(preflight, "host_free", lambda: 1000)
    with pytest.raises(StudyError, match=r"of memory, 0\.00 GB are free"):
        run("preflight", own)
    (tmp_path / "empty").mkdir()
    with pytest.raises(StudyError, match="no weights here"):
        preflight.weights_memory(tmp_path / "empty")
    (tmp_path / "empty" / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{torn")
    with pytest.raises(StoreError, match="no readable safetensors"):
        preflight.weights_memory(tmp_path / "empty")
    sizes = [preflight.weights_memory(make_model("llama"), dtype) for dtype in ("float32", "bfloat16")]
    assert sizes[0] * 6 == sizes[1] * 8  # a float32 master beside either
    assert torch.get_num_threads() == 1
