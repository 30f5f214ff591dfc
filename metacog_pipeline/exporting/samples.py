"""One model's answer to one item under one condition: the unit that other programs call a sample."""

from __future__ import annotations

import json
from dataclasses import dataclass
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

    @property
    def tokens(self) -> dict[str, int]:
        """Its tokens over all calls; what is not known counts 0."""
        counts = {
            name: sum(call[name] or 0 for call in self.calls) for name in ("input_tokens", "output_tokens")
        }
        return {**counts, "total_tokens": sum(counts.values())}

    @property
    def latency_s(self) -> float:
        """The seconds its calls took."""
        return sum(float(call["latency_s"]) for call in self.calls)


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
    for _, calls in answers.sort(order).group_by(order[:4], maintain_order=True):
        first = calls.row(0, named=True)
        model, condition, item_id, run = (first[name] for name in order[:4])
        item = items.get(item_id, {})
        read = scored.get((model, run, item_id, board_condition(item.get("task"), condition)), {})
        names.setdefault(model, f"{first['provider']}/{(first['model_id'] or model).split('/')[-1]}")
        asked, right = item.get("question") or "", str(item.get("key") or "")
        said = (read.get(name) for name in ("correct", "confidence", "response"))
        found.append(Sample(model, run, condition, item_id, calls.to_dicts(), asked, right, *said))
    return found, names


def estimates(facts: Facts, benchmark: Bound, model: str) -> list[dict[str, Any]]:
    """Return every estimate of a model that has a value, with range and direction of its measure.

    Its ``place`` says where it belongs, in one text that no other of its model has.
    """
    sql = (
        "select concat_ws('/', nullif(e.dataset, ''), nullif(e.task, ''), nullif(e.condition, ''), nullif(e.scoring, ''), "
        "e.measure) as place, e.condition, e.measure, e.estimate, e.low, e.high, e.n, e.method, m.label, m.definition, "
        "m.min, m.max, m.higher_is_better from estimates e left join measures m using (benchmark, measure) "
        f"where benchmark = '{benchmark.name}' and model = '{model}' and e.estimate is not null and isfinite(e.estimate) "
        "and e.source <> 'published' order by place"
    )
    rows: list[dict[str, Any]] = query_table(facts.study.home, sql).to_pylist()
    return rows
