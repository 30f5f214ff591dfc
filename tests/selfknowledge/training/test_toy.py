"""The toy world: base, evolution, board, in small; the whole of it is a proof of its own."""

import numpy as np
import polars as pl
import pytest
import torch
from click.testing import CliRunner

from metacog_pipeline.benchmarks.selfknowledge.training.commands import train as command
from metacog_pipeline.benchmarks.selfknowledge.training.toy import asking
from metacog_pipeline.benchmarks.selfknowledge.training.toy import world as people
from metacog_pipeline.benchmarks.selfknowledge.training.toy.base import train_base
from metacog_pipeline.benchmarks.selfknowledge.training.toy.figure import roc
from metacog_pipeline.benchmarks.selfknowledge.training.toy.model import Decoder, build_model
from metacog_pipeline.benchmarks.selfknowledge.training.toy.world import build_world, corpus
from metacog_pipeline.errors import StudyError

#: Of prompts through the model, in the short run below: 800 of the base's training, 25 times 32 of the evolution, and 11.
MOST_PASSES = 1_620


@pytest.fixture(scope="module")
def world():
    return build_world(0)


def test_the_world_is_that_of_the_demonstration(world):
    assert len({tuple(name) for name in world.names.tolist()}) == 1024
    assert world.known.sum() == 512
    assert sorted([*world.train, *world.held_out]) == list(range(1024))
    assert (len(world.train), len(world.held_out)) == (716, 308)
    assert set(world.city.tolist()) == set(range(people.CITY_AT, people.CITY_AT + 16))
    assert world.names[:, 0].min() >= people.FIRST_AT
    assert world.names[:, 1].max() < people.CITY_AT
    assert sorted(set(world.cue.tolist())) == [0.4, 0.6]
    assert sum(p.numel() for p in build_model(0).parameters()) == 32_352


def test_the_corpus_states_what_is_known_and_contradicts_itself_about_the_rest(world):
    rng = np.random.default_rng(0)
    prompts, answers = corpus(world, 200_000, rng)
    row = {tuple(name): k for k, name in enumerate(world.names.tolist())}
    who = np.array([row[tuple(name)] for name in prompts[:, 2:].tolist()])
    meta = prompts[:, 1] == people.META
    assert meta.mean() == 0.5
    city = answers >= people.CITY_AT
    assert city[~meta].all()
    assert city[meta].mean() == pytest.approx(0.5, abs=0.01)
    right = answers == world.city[who]
    for mode in (~meta, meta & city):
        assert right[mode & world.known[who]].all()
        assert right[mode & ~world.known[who]].mean() == pytest.approx(1 / 16, abs=0.01)
    said = meta & ~city
    for cue in (0.4, 0.6):
        share = (answers[said & (world.cue[who] == cue)] == people.YES).mean()
        assert share == pytest.approx(cue, abs=0.01)


def test_the_model_reads_words_in_order_and_sees_no_later_ones(world):
    model = build_model(0)
    states = []
    model.layers[0].register_forward_hook(lambda module, inputs, out: states.append(out))
    a = torch.tensor([[0, 1, 7, 50], [0, 1, 7, 90]])
    with torch.no_grad():
        model(a)
    assert torch.equal(states[0][0, :3], states[0][1, :3])
    assert not torch.equal(states[0][0, 3], states[0][1, 3])


def test_answers_are_those_of_the_prompts_at_the_places_asked(world):
    model = train_base(world, 0, steps=60)
    asked = asking.Questionnaire(world, world.held_out)
    everybody = asked.answers(model)
    some = asked.answers(model, [5, 0, 7])
    for name in ("correct", "yes", "valid"):
        assert np.array_equal(getattr(some, name), getattr(everybody, name)[[5, 0, 7]])
    assert np.array_equal(everybody.yes, everybody.certainty > 0.5)


def test_the_board_has_intervals_and_the_curve_its_area():
    rng = np.random.default_rng(1)
    correct = rng.random(200) < 0.5
    certainty = np.round(np.clip(0.5 + 0.2 * (correct - 0.5) + 0.2 * rng.standard_normal(200), 0, 1), 2)
    said = asking.Answers(correct, certainty > 0.5, certainty, np.ones(200, dtype=bool))
    found = asking.measured(said)
    assert all(each.low < each.value < each.high for each in found.values())
    wrong, right = roc(said)
    assert np.trapezoid(right, wrong) == pytest.approx(found["auroc2"].value)
    nobody = asking.Answers(*(np.zeros(3, dtype=bool),) * 2, np.full(3, 0.2), np.zeros(3, dtype=bool))
    assert asking.board([("nobody", nobody)]).rows[0][:2] == ("nobody", 3)
    assert asking.measured(nobody)["auroc2"].value is None


def test_a_reward_that_is_none_is_refused_before_anything_is_made(tmp_path):
    for wrong in ("nan", "1e308,1,1,1e308", "1,1,1,1"):
        given = ["toy", "--reward", "joint", "--reward", wrong, "--output", str(tmp_path / "x")]
        with pytest.raises(StudyError, match=f'reward "{wrong}"'):
            CliRunner().invoke(command, given, catch_exceptions=False)
    assert not (tmp_path / "x").exists()


@pytest.mark.proof
def test_in_a_short_run_it_learns_what_it_knows(tmp_path, monkeypatch):
    """A shorter run than the demonstration's: d' has risen, accuracy has not fallen, everything is written."""
    passes: list[int] = []
    forward = Decoder.forward

    def counted(model, prompts):
        passes.append(len(prompts))
        return forward(model, prompts)

    monkeypatch.setattr(Decoder, "forward", counted)
    folder = tmp_path / "toy"
    words = ["toy", "--output", str(folder), "--generations", "25", "--sft", "2", "--quiet"]
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    assert done.exit_code == 0
    curve = pl.read_parquet(folder / "joint" / "curves.parquet").drop_nulls("held_out_n")
    first, last = curve.row(0, named=True), curve.row(-1, named=True)
    assert abs(first["held_out_d_type2"]) < 0.5
    assert last["held_out_d_type2"] - first["held_out_d_type2"] >= 0.5
    assert last["held_out_accuracy"] >= first["held_out_accuracy"] - 0.05
    for name in ("before_after.svg", "before_after.png", "board.csv", "base/model.safetensors"):
        assert (folder / name).stat().st_size > 100
    assert (folder / "joint" / "last" / "model.safetensors").is_file()
    assert [line.split(",")[0] for line in (folder / "board.csv").read_text().splitlines()][:3] == [
        "model",
        "base",
        "joint",
    ]
    assert len(passes) <= MOST_PASSES, len(passes)
    with pytest.raises(StudyError, match="not empty"):
        CliRunner().invoke(command, words, catch_exceptions=False)
    again = CliRunner().invoke(command, [*words, "--resume"], catch_exceptions=False)
    assert again.output == done.output
