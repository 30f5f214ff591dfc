"""A real small model, trained here: the joint reward teaches it what it knows, at no cost of what it knows.

The world is simulated; model, training and measurement go the way of any causal language model.
"""

import math
import time

import pytest
from scipy.stats import t as student

from metacog_pipeline.api import open_study
from metacog_pipeline.benchmarks.selfknowledge.training.chain import Chain
from metacog_pipeline.study import load_study

SEEDS = range(3)
STUDY = """
[study]
name = "seed"
seed = {seed}
[[models]]
name = "nobody"
provider = "simulated"
[benchmarks.selfknowledge]
[training]
reward = "{reward}"
"""


def changes(folder, seed, reward):
    """Return measures of base and evolved model on held-out people, and the processor seconds of the chain."""
    folder.mkdir(exist_ok=True)
    (folder / "study.toml").write_text(STUDY.format(seed=seed, reward=reward))
    begun, chain = time.process_time(), Chain(load_study(folder / "study.toml"))
    chain.make_base()
    chain.make_checkpoint()
    table = chain.make_evaluation().table
    both = [
        {
            measure: value
            for name, measure, value in table.select("model", "measure", "estimate").rows()
            if name == model
        }
        for model in ("base", "evolved")
    ]
    return *both, time.process_time() - begun


def interval(values):
    """Return the mean over seeds with Student's 95 % interval."""
    n, mean = len(values), sum(values) / len(values)
    sd = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1))
    half = float(student.ppf(0.975, n - 1)) * sd / math.sqrt(n)
    return mean, mean - half, mean + half


@pytest.mark.proof
def test_the_joint_reward_raises_d_prime_held_out_with_accuracy_unmoved(tmp_path):
    gains, moved = {"joint": [], "direct": []}, []
    for seed in SEEDS:
        for reward in gains:
            before, after, seconds = changes(tmp_path / f"{seed}", seed, reward)
            d, accuracy = (tuple(each[name] for each in (before, after)) for name in ("d_type2", "accuracy"))
            told = f"d' {d[0]:.2f} -> {d[1]:.2f}, accuracy {accuracy[0]:.3f} -> {accuracy[1]:.3f}"
            print(f"seed {seed}, {reward}: {told}, {seconds:.0f} CPU s")
            gains[reward].append(d[1] - d[0])
            if reward == "joint":
                moved.append(accuracy[1] - accuracy[0])
                assert seconds <= 90
                assert seed or d[1] >= 1.5
    found = {name: interval(values) for name, values in {**gains, "accuracy": moved}.items()}
    print({name: [round(value, 3) for value in each] for name, each in found.items()})
    assert found["joint"][1] > 1.0
    assert found["joint"][1] > found["direct"][2]
    assert found["accuracy"][1] < 0 < found["accuracy"][2] or abs(found["accuracy"][0]) < 0.02


@pytest.mark.proof
def test_the_chain_of_the_paper_ends_as_rows_of_a_board(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(seed=0, reward="joint") + 'preset = "fictional"\n')
    chain = Chain(load_study(path))
    for step in (chain.make_base, chain.make_taught, chain.make_checkpoint, chain.make_patching):
        step()
    measured = chain.make_evaluation().table.filter(questions="held out", measure="d_type2")
    study = open_study(chain.folder / "study.toml")
    study.run()
    assert set(study.observations("selfknowledge")["status"]) == {"ok"}  # no reply is cut: each has its end
    board = study.board("selfknowledge").filter(measure="d_type2")
    found = {row["model"]: (row["estimate"], row["low"]) for row in board.iter_rows(named=True)}
    print({model: [round(each, 2) for each in own] for model, own in found.items()})
    assert found.keys() == {"base", "taught", "evolved"}
    for model, d in measured.select("model", "estimate").rows():
        assert found[model][0] == pytest.approx(d, abs=0.05)
    assert found["evolved"][1] > max(0.5, found["base"][0], found["taught"][0])
