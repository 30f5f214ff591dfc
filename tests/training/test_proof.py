"""Five worlds: the joint reward teaches the model what it knows, the reward for answers alone does not."""

import time

import pytest

from metacog_pipeline.training.shown import shown
from metacog_pipeline.training.toy.board import ACCURACY, AUROC, D, measured
from metacog_pipeline.training.toy.demo import demonstrate

SEEDS = range(5)
GAIN, LOSS, DIRECT_GAIN = 0.8, 0.05, 0.3


@pytest.mark.proof
def test_in_every_one_of_five_worlds(tmp_path):
    lines = [
        "| seed | model | d′ (log-linear) | AUROC | accuracy | CPU s |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    found = {}
    for seed in SEEDS:
        begun = time.process_time()
        made = demonstrate(tmp_path / str(seed), seed, ("joint", "direct"))
        spent = time.process_time() - begun
        for name, answers in made.answers:
            numbers = measured(answers)
            found[seed, name] = numbers
            cells = " | ".join(str(shown(numbers[each])) for each in (D, AUROC, ACCURACY))
            lines.append(f"| {seed} | {name} | {cells} | {spent:.0f} |")
    print("\n".join(["", *lines]))
    for seed in SEEDS:
        base, joint, direct = (found[seed, name] for name in ("base", "joint", "direct"))
        assert joint[D].value - base[D].value >= GAIN, f"seed {seed}"
        assert joint[AUROC].value >= 0.6, f"seed {seed}"
        assert abs(joint[ACCURACY].value - base[ACCURACY].value) <= LOSS, f"seed {seed}"
        assert direct[D].value - base[D].value <= DIRECT_GAIN, f"seed {seed}"
