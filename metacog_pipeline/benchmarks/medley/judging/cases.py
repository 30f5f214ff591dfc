"""What is judged: the first and the final answer to one instance under one condition, condensed to what a judge reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from metacog_pipeline.benchmarks.medley.items import Instance
from metacog_pipeline.benchmarks.medley.labels import claim_items
from metacog_pipeline.benchmarks.medley.prompts import B_SOCIAL, STEP_A

VIGNETTE_CHARACTERS = 500
ANSWER_CHARACTERS = 5_000
LABEL_CHARACTERS = 80  # of a confidence, a claim id or an analyst's name; longer ones are none


@dataclass(frozen=True, slots=True)
class Case:
    """One answer of the judged model, as a judge reads it.

    ``first`` and ``final`` are step A and B-social, condensed to at most 5,000 characters each, empty where there is
    nothing to judge, and ``unjudged`` says why; ``source`` is what the judged answers are: measured, imported or simulated.
    Judges are blind: ``condition`` names the row and reaches no message, so that equal replies are judged on equal pages.
    """

    item: Instance
    condition: str
    first: str
    final: str
    unjudged: str | None = None
    source: str = "measured"

    @property
    def item_id(self) -> str:
        """The instance's name."""
        return self.item.item_id

    @property
    def vignette(self) -> str:
        """The beginning of the case: its first 500 characters."""
        return self.item.vignette[:VIGNETTE_CHARACTERS]


def cases(instances: Sequence[Instance], responses: pl.DataFrame) -> list[Case]:
    """Return one case per response of one model and run, in their order; rows of other instances are left out.

    Where step A or B-social is not ``ok`` there is nothing to judge: the scores of such an instance are not used either.
    """
    by_id = {instance.item_id: instance for instance in instances}
    parts = [f"{column}_{step}" for step in (STEP_A, B_SOCIAL) for column in ("status", "reply")]
    rows = responses.select("item_id", "condition", "source", *parts).iter_rows(named=True)
    return [_case(by_id[row["item_id"]], row) for row in rows if row["item_id"] in by_id]


def condensed(reply: object) -> str:
    """Return a parsed reply as a judge reads it, at most 5,000 characters.

    ``Overall: …``, then a line per claim item: id, reasoning, confidence. Items without reasoning are left out; of a reply
    that could not be read its text is shown. Line breaks within a text become blanks, so that no text can pass for the
    next line.
    """
    if isinstance(reply, dict) and reply.get("_parse_error"):
        raw = reply.get("_raw")
        return raw.strip()[:ANSWER_CHARACTERS] if isinstance(raw, str) else ""
    lines = []
    if isinstance(reply, dict):
        texts = (_flat(reply.get(key)) for key in ("assessment", "overall_assessment"))
        overall = next((text for text in texts if text), "")
        lines += [f"Overall: {overall}"] if overall else []
    for item in claim_items(reply):
        reasoning = _flat(item.get("reasoning")) if isinstance(item, dict) else ""
        if reasoning:
            lines.append(
                f"{_short(item.get('claim_id'))}: {reasoning} (conf: {_short(item.get('confidence'))})"
            )
    return "\n".join(lines)[:ANSWER_CHARACTERS]


def _case(item: Instance, row: Mapping[str, Any]) -> Case:
    condition = row["condition"]
    for step in (STEP_A, B_SOCIAL):
        if (status := row[f"status_{step}"]) != "ok":
            return Case(item, condition, "", "", f"{step} is {status}", row["source"])
    first, final = (condensed(json.loads(row[f"reply_{step}"] or "null")) for step in (STEP_A, B_SOCIAL))
    return Case(item, condition, first, final, None, row["source"])


def longest(item: Instance, condition: str) -> Case:
    """Return a case as long as an answer can make it, for planning."""
    first, final = (f"{step} {condition} ".ljust(ANSWER_CHARACTERS, "x") for step in (STEP_A, B_SOCIAL))
    return Case(item, condition, first, final)


def _flat(value: object) -> str:
    """Return a text on one line; of a long one no more is looked at than can be shown."""
    if not isinstance(value, str):
        return ""
    return " ".join(value.strip()[: 2 * ANSWER_CHARACTERS].split())


def _short(value: object) -> str:
    """Return a name or label on one line, ``?`` where it is none."""
    if not isinstance(value, str | int | float):
        return "?"
    text = value if isinstance(value, str) else repr(value)
    return " ".join(text.split()) or "?" if len(text) <= LABEL_CHARACTERS else "?"
