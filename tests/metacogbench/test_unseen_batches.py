"""Batches of replies written with labels before any scorer saw them.

How each was read at first stands in docs/benchmarks/metacogbench/README.md.

They have been used to widen the cues since, so what is held here is that nothing falls back, batch by batch.
"""

import itertools
from pathlib import Path

from tests.batches import kappa
from tests.metacogbench import labelled
from tests.tables import every

DATA = Path(__file__).parent / "data"
KAPPA_REQUIRED, ACCURACY_REQUIRED = 0.6, 0.95


@every(("path", "rule"), itertools.product(sorted(DATA.glob("batch_*.jsonl")), ("caution", "stance")))
def test_a_batch_agrees_with_its_labels_beyond_chance(path, rule):
    read = [(row["expect"], labelled.read(row)) for row in labelled.rows(path) if row["rule"] == rule]
    assert len(read) >= 20
    agreement = {key: kappa((want[key], got[key]) for want, got in read) for key in read[0][1]}
    assert min(agreement.values()) >= KAPPA_REQUIRED, agreement


@every("path", sorted(DATA.glob("values_*.jsonl")))
def test_values_fields_and_regexes_are_read(path):
    found = labelled.rows(path)
    missed = [row["id"] for row in found if labelled.read(row) != labelled.expected(row)]
    assert {row["rule"] for row in found} == set(labelled.BY_VALUE)
    assert 1 - len(missed) / len(found) >= ACCURACY_REQUIRED, missed
