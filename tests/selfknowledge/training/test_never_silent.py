"""A run that cannot learn says so and why, before it is begun and while it runs; no figure without what it rests on."""

import json
import math
from dataclasses import dataclass

import pytest
import torch
from click.testing import CliRunner

from metacog_pipeline.benchmarks.selfknowledge.training import figures
from metacog_pipeline.benchmarks.selfknowledge.training.commands import train as command
from metacog_pipeline.benchmarks.selfknowledge.training.es import Commit, Settings, Tried
from metacog_pipeline.benchmarks.selfknowledge.training.figures import Figures, estimates
from metacog_pipeline.benchmarks.selfknowledge.training.log import Log
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import EpisodeReward
from metacog_pipeline.benchmarks.selfknowledge.training.run import Plan, Stalled, train
from metacog_pipeline.benchmarks.selfknowledge.training.seeds import Individual
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker
from metacog_pipeline.errors import StoreError, StudyError
from tests.selfknowledge.training.conftest import numbers, write_questions
from tests.tables import every

COUNTS = EpisodeReward(8, 3, 4, 2, 8)


@dataclass(frozen=True)
class Still:
    """Numbers whose fitness is ``outcome``'s from generation ``dies`` on, and moves before."""

    dies: int = 0
    outcome: EpisodeReward = COUNTS
    size: int = 20
    threads: int = 1

    def build(self):
        def fitness(x, t):
            return Tried(1.0 if t >= self.dies else float(x[:20].sum()), self.outcome)

        return numbers(torch.zeros(self.size), fitness, lambda model, part, of: self.outcome)


SETTINGS = Settings(sigma=0.1, alpha=0.1, population=4, generations=12)


def test_a_run_that_does_not_move_stops_and_nothing_is_lost(tmp_path):
    heard = []
    with pytest.raises(Stalled, match=r"after 7 of 12 generations, as the last 5 .* larger --sigma") as error:
        train(SETTINGS, Plan(tmp_path / "r"), Worker(Still(2)), tell=heard.append)
    assert "--patience 0" in str(error.value)
    log = Log(tmp_path / "r")
    assert log.checkpoints() == [7]
    assert (tmp_path / "r" / "last" / "model.safetensors").is_file()
    assert [each.updates for each in heard] == list(range(1, 8))
    assert [each.update_norm == 0 for each in heard] == [False] * 2 + [True] * 5
    with pytest.raises(Stalled):  # again, without asking anything
        train(SETTINGS, Plan(tmp_path / "r"), Worker(Still(2)), resume=True)
    made = train(SETTINGS, Plan(tmp_path / "r", patience=0), Worker(Still(2)), resume=True)
    whole = train(SETTINGS, Plan(tmp_path / "whole", patience=0), Worker(Still(2)))
    assert made.digest == whole.digest
    assert [each.commit for each in Log(made.folder).read()] == [
        each.commit for each in Log(whole.folder).read()
    ]


@every(
    ("counts", "reward", "said"),
    [
        (EpisodeReward(8, 0, 0, 0, 0), "joint", "no answer was right"),
        (EpisodeReward(8, 3, 0, 0, 0), "joint", "no reply could be read"),
        (EpisodeReward(8, 3, 0, 0, 0), "direct", "larger --sigma"),
        (EpisodeReward(8, 3, 0, 0, 8), "joint", "every reply says no"),
        (EpisodeReward(8, 3, 8, 3, 8), "meta", "every reply says yes"),
        (EpisodeReward(8, 8, 3, 3), "joint", "every answer was right"),
        (EpisodeReward(8, 4, 3, 2), "joint", "larger --sigma"),
    ],
)
def test_the_cause_is_named(counts, reward, said):
    assert said in figures.cause(counts, reward, 0.1)


@every(
    ("counts", "base", "said"),
    [
        (EpisodeReward(8, 0, 0, 0, 0), EpisodeReward(9, 4, 2, 1), "though the base has 4 of 9 right"),
        (EpisodeReward(8, 3, 0, 0, 0), EpisodeReward(9, 0, 2, 0, 5), "though 5 of 9 of the base can"),
        (EpisodeReward(8, 3, 8, 3, 8), EpisodeReward(9, 3, 2, 1, 9), "though the base says both"),
    ],
)
def test_what_the_base_can_do_and_no_individual_is_laid_to_noise_that_is_too_large(counts, base, said):
    found = figures.cause(counts, "joint", 0.1, base)
    assert said in found
    assert "smaller --sigma or --alpha" in found


@pytest.mark.parametrize(
    "counts", [EpisodeReward(0, 0, 0, 0), EpisodeReward(9, 0, 4, 0), EpisodeReward(9, 9, 4, 4)]
)
def test_what_the_benchmark_calls_undefined_has_no_number_anywhere(counts):
    assert estimates(counts)["d_type2"].value is None
    told = Figures(1, 0.5, counts, 3, 1.0, 0.0, 1.0, 10.0, 5.0, counts)
    numbers = told.numbers()
    assert numbers["d_type2"] is numbers["d_type2_low"] is numbers["held_out_d_type2"] is None
    assert numbers["d_type2_status"] == numbers["held_out_d_type2_status"] != "ok"
    json.dumps(numbers, allow_nan=False)
    assert numbers["d_type2_status"] in told.line()


def test_a_rate_of_0_or_1_is_marked_and_individuals_count_as_one_sample_of_items():
    assert "correction" in estimates(EpisodeReward(77, 1, 4, 1))["d_type2"].status
    one, many = (estimates(EpisodeReward(100 * k, 40 * k, 50 * k, 30 * k), k)["d_type2"] for k in (1, 32))
    width = (one.high - one.low) / (many.high - many.low)
    assert width == pytest.approx(1, abs=0.03)


def test_every_generation_is_in_the_log_to_look_at_and_torn_lines_are_dropped(tmp_path):
    train(Settings(sigma=0.1, population=4, generations=2), Plan(tmp_path / "r"), Worker(Still(9)))
    path = tmp_path / "r" / "log.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    wanted = {"reward", "accuracy", "yes_ratio", "d_type2", "d_type2_low", "distinct_fitness", "update_norm"}
    assert [row["updates"] for row in rows] == [1, 2]
    assert wanted | {"questions_per_s", "eta_s", "held_out_d_type2"} <= rows[1].keys()
    path.write_text(path.read_text() + '{"updates": 3}\n{"upd')
    longer = Settings(sigma=0.1, population=4, generations=3)
    train(longer, Plan(tmp_path / "r"), Worker(Still(9)), resume=True)
    assert [json.loads(line)["updates"] for line in path.read_text().splitlines()] == [1, 2, 3]


def test_event_files_are_written_where_tensorboard_is_installed(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(Settings(sigma=0.1, population=4, generations=2), Plan(tmp_path / "r"), Worker(Still(9)))
    found = EventAccumulator(str(tmp_path / "r" / "events"))
    found.Reload()
    assert [each.step for each in found.Scalars("reward")] == [1, 2]
    assert "eta_s" in found.Tags()["scalars"]


OLD = (  # as runs wrote it before samples of weights were logged
    '{"alpha":0.1,"digest":"44273fb4598323f4e2460e0f7b0335c3","fitness":[-190.1937255859375,-189.8917236328125,'
    '-189.80465698242188,-189.95986938476562],"seeds":[11118806157617079511,13906425451476384304,1929049016981677489,'
    '15106691768262150912],"signs":[1,1,1,1],"t":0,"z":[-1.3868694876959557,0.42446223333336697,0.9466660934886477,'
    "0.015741160873941163]}",
    '{"alpha":0.1,"digest":"6c7a470c638ecf2915a30c5c2b8361ae","fitness":[-190.68711853027344,-190.22189331054688,'
    '-190.09390258789062,-189.8994903564453],"seeds":[7165666784496204674,13980579643294393762,3199635559002545285,'
    '5789856103797365332],"signs":[1,1,1,1],"t":1,"z":[-1.377602673458638,0.011067825486029526,0.39311276448527094,'
    "0.9734220834873375]}",
)


def test_logs_of_earlier_releases_give_the_same_weights():
    commits = [Commit.from_record(json.loads(line)) for line in OLD]
    worker = Worker(Still())
    assert worker.digest() == "53a17ce80fd48c5741be4aa2b1f79cd8"
    assert worker.replay(commits) == "6c7a470c638ecf2915a30c5c2b8361ae"


def test_a_large_model_is_digested_whole_now_and_then_and_sampled_always(tmp_path, monkeypatch):
    module = "metacog_pipeline.benchmarks.selfknowledge.training"
    monkeypatch.setattr(f"{module}.weights.WHOLE", 0)
    monkeypatch.setattr(f"{module}.weights.RANGE", 8)
    monkeypatch.setattr(f"{module}.weights.RANGES", 3)
    plan = Plan(tmp_path / "r", checkpoint_every=0, digest_every=3)
    train(Settings(sigma=0.1, population=4, generations=8), plan, Worker(Still(9, size=500)))
    commits = [each.commit for each in Log(plan.folder).read()]
    assert [bool(each.digest) for each in commits] == [False, False, True, False, False, True, False, True]
    assert len({each.sample for each in commits}) == 8
    for some in (commits[:2], commits[:3], commits):
        Worker(Still(size=500)).replay(some)
    other = Worker(Still(size=500))
    other.weights.update([(1, 1e-3)])
    with pytest.raises(StoreError, match="replaying 2 generations"):
        other.replay(commits[:2])


def test_the_norm_of_an_update_is_that_of_what_was_added():
    worker = Worker(Still(size=500))
    before = worker.weights.master()["x"].double()
    norm = worker.weights.update([(Individual(1).seed, 0.1), (2, -0.2)])
    assert norm == pytest.approx(float((worker.weights.master()["x"].double() - before).norm()), rel=1e-5)
    assert worker.weights.update([]) == 0.0


def preflight(folder, tmp_path, answers, *more):
    path = write_questions(tmp_path / "q.jsonl", answers, [f"What is number {i}?" for i in range(10)])
    told = ["preflight", "--model", str(folder), "--questions", path, "--max-tokens", "3", "--batch", "5"]
    done = CliRunner().invoke(command, [*told, "--population", "8", "--quiet", "--json", *more])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, json.loads(done.stdout)


def test_preflight_measures_what_a_run_takes_and_lets_one_that_can_learn_go(make_model, tmp_path):
    code, found = preflight(
        make_model("llama"), tmp_path, list("abcdef"), "--sigma", "0.1", "--meta", "threshold",
        "--reward", "direct", "--usd-per-hour", "2",
    )  # fmt: skip
    assert (code, found["reasons"]) == (0, [])
    assert found["individuals"] >= 2
    assert 0 < found["distinct_fitness"] <= 1
    assert found["host_needed"] > 0
    assert found["hours"] > 750 * found["generation_s"] / 3600 * 0.99
    assert found["usd"] == pytest.approx(2 * found["hours"])
    assert found["generation_s"] > found["update_s"] > 0


@pytest.mark.parametrize(
    ("answers", "more", "said"),
    [
        (["nothing a model of letters says"], (), "no answer was right"),
        (list("abcdefghijklmnopqrstuvwxyz"), ("--sigma", "1e-9"), "could be read as yes or no"),
    ],
)
def test_preflight_refuses_what_cannot_learn_with_the_reason(make_model, tmp_path, answers, more, said):
    code, found = preflight(make_model("llama"), tmp_path, answers, *more)
    assert code == 1
    assert said in " ".join(found["reasons"])
    assert found["individuals"] == 8  # those that earn the same are given more chances first


def test_preflight_opens_nothing_that_cannot_fit(make_model, tmp_path, monkeypatch):
    from metacog_pipeline.benchmarks.selfknowledge.training import room

    monkeypatch.setattr(room, "host_free", lambda: 1000)
    with pytest.raises(StudyError, match=r"fewer --workers|--master file"):
        preflight(make_model("llama"), tmp_path, ["a"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(StudyError, match="no weights here"):
        room.weights_of(tmp_path / "empty")
    (tmp_path / "empty" / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{torn")
    with pytest.raises(StudyError, match="no readable safetensors"):
        room.weights_of(tmp_path / "empty")
    assert room.weights_of(make_model("llama"), "bfloat16")[1] == 2 * room.weights_of(make_model("llama"))[0]
    assert figures.duration(math.inf) == "unknown"
