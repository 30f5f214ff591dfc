"""Five worlds: the joint reward teaches the model what it knows, the reward for answers alone does not."""

import pytest

from metacog_pipeline.benchmarks.selfknowledge.training.figures import D
from metacog_pipeline.benchmarks.selfknowledge.training.toy.asking import ACCURACY, AUROC
from tests.selfknowledge.training.worlds import changes, table

GAIN, LOSS, DIRECT_GAIN, AREA = 0.8, 0.05, 0.3, 0.6


@pytest.mark.proof
def test_in_every_one_of_five_worlds(tmp_path):
    found, seconds = changes(tmp_path, range(5), ("joint", "direct"))
    print(f"\n{table(found)}\n\n{seconds:.0f} CPU s a world")
    for each in found:
        if each.reward == "joint":
            assert each.gain(D) >= GAIN, each.seed
            assert each.after[AUROC].value >= AREA, each.seed
            assert abs(each.gain(ACCURACY)) <= LOSS, each.seed
        else:
            assert each.gain(D) <= DIRECT_GAIN, each.seed
