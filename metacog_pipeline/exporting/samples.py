"""What one model said about one item under one condition: the unit that other programs call a sample."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.exporting.facts import Facts
from metacog_pipeline.leaderboard.read import query_table

_PLACE = ["model", "run", "condition", "item_id"]


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
            asked = json.loads(call["request_json"]).get("messages") or [
                ["user", self.question or self.item_id]
            ]
            found += [(role, text) for role, text in (asked if number == 0 else asked[-1:])]
            found.append(("assistant", call["text"]))
        return found

    def total(self, name: str) -> int:
        """Return the sum of a count over the calls; what is not known counts 0."""
        return sum(call[name] or 0 for call in self.calls)


def samples(facts: Facts, benchmark: Bound) -> Iterator[Sample]:
    """Yield the samples of a benchmark, by model, condition, item and run."""
    answers = facts.answers(benchmark)
    if not answers.height:
        return
    asked = {row["item_id"]: row for row in _rows(facts, "items", benchmark)}
    scored = _Scored(_rows(facts, "answers", benchmark))
    order = ["model", "condition", "item_id", "run", "started_at", "step"]
    for place, calls in answers.sort(order).group_by(_PLACE, maintain_order=True):
        model, run, condition, item_id = place
        item, read = asked.get(item_id, {}), scored.of(model, run, condition, item_id)
        yield Sample(
            str(model), int(str(run)), str(condition), str(item_id), calls.to_dicts(),
            item.get("question") or "", str(item.get("key") or ""),
            read.get("correct"), read.get("confidence"), read.get("response"),
        )  # fmt: skip


def _rows(facts: Facts, table: str, benchmark: Bound) -> list[dict[str, Any]]:
    return facts.table(table).filter(benchmark=benchmark.name).to_dicts()


class _Scored:
    """Harmonised responses by place; a condition may have words of the benchmark's own around it."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in rows:
            self._found.setdefault((row["model"], row["run"], row["item_id"]), []).append(row)

    def of(self, model: Any, run: Any, condition: Any, item_id: Any) -> dict[str, Any]:
        rows = self._found.get((model, run, item_id), [])
        return next(
            (row for row in rows if condition in (row["condition"], *row["condition"].split(" "))), {}
        )


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
    """Return where an estimate stands, in one text that no other of its model has."""
    parts = (row["dataset"], row["task"], row["condition"], row["scoring"], row["measure"])
    return "/".join(str(each) for each in parts if each)


def moment(when: datetime | None) -> str:
    """Return a moment as logs have it."""
    return "" if when is None else when.isoformat()


def models(facts: Facts, benchmark: Bound) -> dict[str, str]:
    """Return the id of each model that answered, as other programs name models: provider/model."""
    found = facts.answers(benchmark)
    if not found.height:
        return {}
    rows = (
        found.unique("model", keep="first", maintain_order=True)
        .select("model", "provider", "model_id")
        .to_dicts()
    )
    return {
        row["model"]: f"{row['provider']}/{(row['model_id'] or row['model']).split('/')[-1]}" for row in rows
    }
