"""One model's answer to one item under one condition: the unit that other programs call a sample."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.display import board_condition
from metacog_pipeline.exporting.facts import Facts
from metacog_pipeline.leaderboard.read import query_table


@dataclass(frozen=True, slots=True)
class Sample:
    """``calls`` are its transcripts in order, ``messages`` (role, text) of the whole talk: prompts as they left, replies.

    ``correct``, ``confidence`` and ``said`` are None where not scored; ``name`` is the model as provider/model.
    """

    model: str
    run: int
    condition: str
    item_id: str
    name: str
    calls: list[dict[str, Any]]
    messages: list[tuple[str, str]]
    key: str
    correct: float | None
    confidence: float | None
    said: str | None

    @property
    def last(self) -> dict[str, Any]:
        """The last call."""
        return self.calls[-1]

    @property
    def tokens(self) -> dict[str, int]:
        """Its tokens over all calls; what is not known counts 0."""
        said, got = (
            sum(call[name] or 0 for call in self.calls) for name in ("input_tokens", "output_tokens")
        )
        return {"input_tokens": said, "output_tokens": got, "total_tokens": said + got}

    @property
    def latency_s(self) -> float:
        """The seconds its calls took."""
        return sum(float(call["latency_s"]) for call in self.calls)

    @property
    def times(self) -> list[datetime]:
        """When its calls began."""
        return [call["started_at"] for call in self.calls]


def grouped(facts: Facts, *names: str) -> Iterator[tuple[Bound, list[Sample]]]:
    """Yield the samples of each benchmark that agree in the fields ``names``, by which they come in order."""
    for benchmark in facts.benchmarks():
        for _, group in groupby(samples(facts, benchmark), attrgetter(*names)):
            yield benchmark, [*group]


def samples(facts: Facts, benchmark: Bound) -> list[Sample]:
    """Return the samples of a benchmark, by model, condition, item and run."""
    answers, found = facts.answers(benchmark), list[Sample]()
    if not answers.height:
        return found
    own = pl.col("benchmark") == benchmark.name
    items = {row["item_id"]: row for row in facts.table("items").filter(own).to_dicts()}
    key = ("model", "run", "item_id", "condition")
    scored = {tuple(row[name] for name in key): row for row in facts.table("answers").filter(own).to_dicts()}
    order = ["model", "condition", "item_id", "run", "started_at", "step"]
    for _, group in answers.sort(order).group_by(order[:4], maintain_order=True):
        calls = group.to_dicts()
        model, condition, item_id, run = (calls[0][name] for name in order[:4])
        item = items.get(item_id, {})
        read = scored.get((model, run, item_id, board_condition(item.get("task"), condition)), {})
        name = f"{calls[0]['provider']}/{(calls[0]['model_id'] or model).split('/')[-1]}"
        talk = _messages(calls, item.get("question") or item_id)
        said = (read.get(each) for each in ("correct", "confidence", "response"))
        found.append(
            Sample(model, run, condition, item_id, name, calls, talk, str(item.get("key") or ""), *said)
        )
    return found


def _messages(calls: list[dict[str, Any]], question: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for number, call in enumerate(calls):
        asked = json.loads(call["request_json"]).get("messages") or [["user", question]]
        found += [(role, text) for role, text in (asked if number == 0 else asked[-1:])]
        found.append(("assistant", call["text"]))
    return found


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
