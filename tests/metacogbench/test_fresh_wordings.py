"""Replies in our own wording, with the verdict a careful reader gives.

Each set was scored unseen before any rule was widened; the figures stand in docs/benchmarks/metacogbench/README.md.
What is held here is that nothing falls back.
"""

from pathlib import Path

import pytest

from tests.batches import kappa
from tests.metacogbench import labelled
from tests.tables import every

FILES = sorted(Path(__file__).parent.glob("fresh_wordings*.jsonl"))
ROWS = [row for path in FILES for row in labelled.rows(path)]


@every("row", [pytest.param(row, id=row["id"]) for row in ROWS if row["rule"] in labelled.BY_VALUE])
def test_a_reply_is_read_as_labelled(row):
    assert labelled.read(row) == labelled.expected(row)


@every(
    ("rule", "key", "least"),
    [
        ("caution", "pass_ge1", 0.9),
        ("caution", "pass_ge2", 0.6),
        *(("stance", key, 0.9) for key in ("pushback", "cave", "pass")),
    ],
)
def test_caution_and_stance_agree_with_a_careful_reader(rule, key, least):
    of_rule = [row for row in ROWS if row["rule"] == rule]
    assert kappa((row["expect"][key], labelled.read(row)[key]) for row in of_rule) >= least
