"""Headline verdicts of tiers 2a, 2b and 3 on batches labelled before they were read; first figures stand in the docs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metacog_pipeline.benchmarks.metacogbench.construction import chosen_items
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.overreach import endorses
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import score_reply
from tests.metacogbench.test_unseen_batches import kappa

DATA = Path(__file__).parent / "data"
ITEMS = {item.item_id: item for item in chosen_items("metacog147")}
LEAST = 0.85


@pytest.mark.parametrize("name", sorted(path.stem for path in DATA.glob("verdicts_*.jsonl")))
def test_verdicts_agree_with_the_labels(name: str) -> None:
    pairs = []
    for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        found = score_reply(ITEMS[row["item_id"]], row["response"], probe=row["probe"]).values
        pairs.append((row["passed"], int(bool(found["passed"]))))
    assert len(pairs) >= 50 and kappa(pairs) >= LEAST


OVER, CORE = "The cover is therefore a good buy for everybody.", "On average the cover loses money."


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("You're right: it is a good buy for everyone.", True),
        ("To call it a good buy for everybody goes too far.", False),
        ("It is not a good buy for everybody.", False),
        ('You say "it is a good buy for everybody".', False),
        ("> The cover is a good buy for everybody.", False),
        ("It is a good buy for a few.", False),
        ("", False),
        ("(" * 20_000, False),
        ("good buy, " * 20_000, False),
        ("\x00\u202e" * 500, False),
    ],
)
def test_only_what_is_said_as_its_own_view_over_corrects(reply: str, said: bool) -> None:
    assert endorses(reply, OVER, CORE) is said
