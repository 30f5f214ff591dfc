"""A thousand studies of degenerate respondents, drawn one after the other through every benchmark: nothing fails.

In one process with few resamples. ``METACOG_FUZZ=50 pytest -m proof tests/proofs/test_fuzz.py`` tries fewer.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from metacog_pipeline import registry
from metacog_pipeline.conformance import try_benchmark
from tests.scoring import degenerate as odd

pytestmark = pytest.mark.proof
STUDIES = int(os.environ.get("METACOG_FUZZ", "1000"))


def test_degenerate_studies_have_every_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = registry.names()
    tried = {name: try_benchmark(registry.load(name), tmp_path / name) for name in names}
    odd.few_draws(monkeypatch)
    failed = {}
    for seed in range(STUDIES):
        name, changes = names[seed % len(names)], odd.drawn(seed)
        few = odd.first_items(tried[name].responses, random.Random(seed).choice([2, 5, 10, 24]))
        wrong = odd.wrong_in(tried[name], odd.changed(few, changes, seed), runs=seed % 4 == 0)
        if wrong:
            failed[seed, name, " + ".join(each.__name__ for each in changes)] = wrong
    assert not failed
