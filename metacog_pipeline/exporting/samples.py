"""One model's answer to one item under one condition: the unit that other programs call a sample."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.display import board_condition
from metacog_pipeline.exporting.facts import Facts
from metacog_pipeline.leaderboard.read import query_table


@dataclass(frozen=True, slots=True)
class Sample:
    """``calls`` are its transcripts in order; ``correct``, ``confidence`` and ``said`` are None where not scored."""

    model: str
    run: int
    condition: str
    item_id: str
    calls: list[dict[str, Any]]
    question: str
    key: str
    correct: float | None
    confidence: float | None
    said: str | None

    @property
    def last(self) -> dict[str, Any]:
        """The last call."""
        return self.calls[-1]

    @property
    def messages(self) -> list[tuple[str, str]]:
        """(role, text) of the whole talk: the prompts as they left, and the replies."""
        found: list[tuple[str, str]] = []
        for number, call in enumerate(self.calls):
            asked = json.loads(call["request_json"]).get("messages")
            asked = asked or [["user", self.question or self.item_id]]
            found += [(role, text) for role, text in (asked if number == 0 else asked[-1:])]
            found.append(("assistant", call["text"]))
        return found

    def total(self, name: str) -> int:
        """Return the sum of a count over the calls; what is not known counts 0."""
        return sum(call[name] or 0 for call in self.calls)


def samples(facts: Facts, benchmark: Bound) -> tuple[list[Sample], dict[str, str]]:
    """Return the samples of a benchmark, by model, condition, item and run; and the id of each model, provider/model."""
    answers = facts.answers(benchmark)
    if not answers.height:
        return [], {}
    own = pl.col("benchmark") == benchmark.name
    items = {row["item_id"]: row for row in facts.table("items").filter(own).to_dicts()}
    key = ("model", "run", "item_id", "condition")
    scored = {tuple(row[name] for name in key): row for row in facts.table("answers").filter(own).to_dicts()}
    found, names = [], dict[str, str]()
    order = ["model", "condition", "item_id", "run", "started_at", "step"]
    for place, calls in answers.sort(order).group_by(order[:4], maintain_order=True):
        model, condition, item_id, run = str(place[0]), str(place[1]), str(place[2]), int(str(place[3]))
        item = items.get(item_id, {})
        read = scored.get((model, run, item_id, board_condition(item.get("task"), condition)), {})
        first = calls.row(0, named=True)
        names.setdefault(model, f"{first['provider']}/{(first['model_id'] or model).split('/')[-1]}")
        found.append(
            Sample(
                model,
                run,
                condition,
                item_id,
                calls.to_dicts(),
                item.get("question") or "",
                str(item.get("key") or ""),
                read.get("correct"),
                read.get("confidence"),
                read.get("response"),
            )
        )
    return found, names


def estimates(facts: Facts, benchmark: Bound, model: str) -> list[dict[str, Any]]:
    """Return every estimate of a model that has a value, with range and direction of its measure."""
    sql = (
        "select e.dataset, e.task, e.condition, e.scoring, e.measure, e.estimate, e.low, e.high, e.n, e.method, "
        "m.label, m.definition, m.min, m.max, m.higher_is_better from estimates e left join measures m "
        f"using (benchmark, measure) where benchmark = '{benchmark.name}' and model = '{model}' and e.estimate is not null "
        "and isfinite(e.estimate) and e.source <> 'published' order by all"
    )
    rows: list[dict[str, Any]] = query_table(facts.study.home, sql).to_pylist()
    return rows


def label(row: dict[str, Any]) -> str:
    """Return where an estimate belongs, in one text that no other of its model has."""
    parts = (row["dataset"], row["task"], row["condition"], row["scoring"], row["measure"])
    return "/".join(str(each) for each in parts if each)


def moment(when: datetime | None) -> str:
    """Return a moment as logs have it."""
    return "" if when is None else when.isoformat()
