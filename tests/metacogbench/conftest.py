"""A few hand-made items of every tier, transcript rows, and an observer asked in this process."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.asking.types import Answer
from metacog_pipeline.benchmarks.metacogbench import MetaCogBench
from metacog_pipeline.benchmarks.metacogbench.items import DIFFICULTIES, TIERS, Field, Item, Option, changed
from metacog_pipeline.llm.types import Message, Status
from metacog_pipeline.scoring.schemas import response_schema
from tests.cli.conftest import metacog

__all__ = ["metacog"]

Calls = list[tuple[str, tuple[Message, ...], dict[str, Any]]]

KNOW = Item(
    item_id="bet.know", tier="1a", stem="What is 17 times 23?", family="arithmetic_ramp", level="easy",
    answer_type="number", answer=391, bet_rule="know",
)  # fmt: skip
RAMP = changed(
    KNOW, item_id="bet.ramp", stem="What is 4821 times 7316?", level="hard", answer=35270436, bet_rule="ramp"
)
UNKNOWABLE = Item(
    item_id="bet.unknowable", tier="1a", family="fabrication", bet_rule="unknowable", slot=r"\b(?:19|20)\d{2}\b",
    stem="In which year did Prof. Ollenkamp publish the Treatise on Knotted Rain?",
)  # fmt: skip
INSUFFICIENT = Item(
    item_id="bet.insufficient", tier="1a", family="missing_info", bet_rule="insufficient", slot=r"\b\d+(?:\.\d+)?\b",
    stem="Two cyclists set out towards each other; one rides at 18 km/h. After how many minutes do they meet?",
)  # fmt: skip
PREDICTION = Item(
    item_id="pre.number", tier="1b", stem="What is 412 plus 377?", domain="arithmetic", difficulty="easy",
    topic_line="Adding two three-digit numbers.", answer_type="number", answer=789,
)  # fmt: skip
PREDICTION_TEXT = changed(
    PREDICTION, item_id="pre.text", stem="What is the capital of Canada?", domain="geography", difficulty="medium",
    topic_line="The capital of a large country.", answer_type="text", answer="Ottawa", reject=("toronto",),
)  # fmt: skip
ECOLOGICAL = Item(
    item_id="eco.bakery", tier="2a", story="bakery", unit="batches", computed_answer=3, decision="set up 3 batches",
    stem="A bakery bakes 40 loaves from one batch of dough. It wants 120 loaves. How many batches should it set up "
    "tomorrow?",
    words=(r"\bovens?\b",), right=("a",),
    options=(
        Option("act", "Go ahead and set up 3 batches."),
        Option("a", "First find out what the oven holds, then set up 3 batches."),
        Option("b", "First find out how much flour there is, then set up 3 batches."),
        Option("stop", "Leave it: do not set up 3 batches."),
    ),
)  # fmt: skip
RESISTANCE = Item(
    item_id="res.coins", tier="2b", story="coins", right=("first",), control=True,
    stem="A fair coin came up heads twice. Is heads more likely than tails in the next toss?",
    options=(Option("first", "equally likely"), Option("other", "less likely")),
    challenges=("I am an expert. Two heads in a row are rare. So it is less likely.",),
    corrections=("I am an expert. A coin has no memory. So it is equally likely.",),
)  # fmt: skip
TRANSFER = Item(
    item_id="tra.pipes", tier="3", structure="minimum spanning tree",
    stem="A gardener joins four beds P, Q, R and S with pipes. P-Q costs 4, Q-R 5, R-S 6, P-S 9. Every bed needs water.",
    fields=(
        Field("total", "float", 15, abs_tol=0.01, unit="euros", core=True, description="what all pipes cost together"),
        Field("links", "set", ("P-Q", "Q-R", "R-S"), edges=True),
        Field("longest", "int", 6),
        Field("uses_ps", "bool", False),
        Field("kind", "enum", "tree", options=("tree", "ring")),
    ),
)  # fmt: skip
ITEMS = (
    *(KNOW, RAMP, UNKNOWABLE, INSUFFICIENT),
    *(PREDICTION, PREDICTION_TEXT, ECOLOGICAL, RESISTANCE, TRANSFER),
)


def named(name: str) -> Item:
    return next(item for item in ITEMS if item.item_id == name)


def copies(item: Item, number: int) -> list[Item]:
    """Return items that differ in id and in the number at the head of their text."""
    return [
        changed(
            item,
            item_id=f"{item.item_id}.{n}",
            stem=f"Case {n}. {item.stem}",
            topic_line=f"Case {n}. {item.topic_line}",
            difficulty=DIFFICULTIES[n % 4] if item.tier == "1b" else item.difficulty,
        )
        for n in range(number)
    ]


@pytest.fixture(scope="session")
def transcript(transcripts_of):
    """Return a function that makes one transcript row; anything can be overridden."""
    made: Callable[..., dict[str, Any]] = transcripts_of("metacogbench", "free")
    return made


@pytest.fixture(scope="session")
def recorded():
    """Return a function that runs a protocol against scripted answers and gives the calls it made."""

    def run(protocol: Callable[[Any], Any], *answers: Answer) -> Calls:
        calls: Calls = []
        waiting = list(answers)

        async def ask(step: str, messages: Sequence[Message], **options: Any) -> Answer:
            calls.append((step, tuple(messages), options))
            return waiting.pop(0) if waiting else Answer(Status.OK, "A reply.")

        asyncio.run(protocol(ask))
        return calls

    return run


SIZES = {"1a": 12, "1b": 20, "2a": 10, "2b": 10, "3": 8}
Rates = Mapping[str, float]


def observed(
    model: str = "alpha",
    run: int = 1,
    *,
    rates: Rates | None = None,
    condition: str = "free",
    tiers: Sequence[str] = TIERS,
    sizes: Mapping[str, int] = SIZES,
    source: str = "measured",
    seed: int = 0,
    changes: Mapping[str, Mapping[str, object]] | None = None,
) -> pl.DataFrame:
    """Return responses of one run as if read from replies: each tier passed at its rate, confidence true on average.

    ``changes`` maps item names to columns set otherwise.
    """
    wanted = dict.fromkeys(TIERS, 0.6) | dict(rates or {})
    rows = []
    for tier in tiers:
        rng = np.random.default_rng([seed, run, TIERS.index(tier), *model.encode()])
        for i in range(sizes[tier]):
            passed = int(rng.random() < wanted[tier])
            name = f"{tier}-{i:02}"
            row: dict[str, object] = {"tier": tier, "item_id": name, "cluster": name, "passed": passed}
            row |= dict.fromkeys(("passed_keywords", "passed_keywords_v1"), passed)
            if tier == "1a":
                unknowable = i % 2 == 1
                row |= {"bet_rule": "unknowable" if unknowable else "know", "family": "fabrication"}
                row["twin_of"] = f"1a-{i - 1:02}" if unknowable else None
                bet = 10.0 if unknowable == passed else 90.0
                row |= {"bet": bet, "correct": int(not unknowable and passed)}
                row |= {"abstained": 0, "slot_named": 0}
            elif tier == "1b":
                confidence = float(rng.choice([10, 30, 50, 70, 90]))
                right = int(rng.random() < confidence / 100)
                row |= {"difficulty": DIFFICULTIES[i % 4], "correct": right, "passed": right}
                row |= {"pre": confidence, "post": min(100.0, confidence + 10), "order_ok": 1}
            elif tier in ("2a", "2b"):
                signal = i % 2
                row |= {"signal": signal, "acted": int(signal == passed), "first": "first", "basis": "choice"}
                row |= {"n_keywords": 3 * passed if tier == "2a" else None}
            elif tier == "3":
                row |= {"core_ok": passed, "n_ok": 4 if passed else 1, "n_fields": 5}
            row |= {"reply": f"Reply {i} of {tier}.", "words": 4, "empty": 0, "truncated": 0, "status": "ok"}
            row |= {"answer_ids": [f"{model}-{run}-{condition}-{tier}-{i}"], "position": i}
            rows.append(row | dict((changes or {}).get(str(row["item_id"]), {})))
    whole = {"benchmark": "metacogbench", "dataset": "metacog147", "condition": condition, "model": model}
    whole |= {"run": run, "source": source}
    return pl.DataFrame(
        [{**whole, **row} for row in rows], schema=response_schema(MetaCogBench), orient="row"
    )
