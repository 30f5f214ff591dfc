"""Cases to judge, judges of several families, and transcripts of what they said."""

import json
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from metacog_pipeline.benchmarks.medley.grades import CRITERIA, JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.judging.asking import BENCHMARK
from metacog_pipeline.benchmarks.medley.judging.cases import Case, condensed
from metacog_pipeline.benchmarks.medley.judging.prompts import case_hash, load_judge_wording
from metacog_pipeline.benchmarks.medley.judging.rows import JUDGEMENT_SCHEMA
from metacog_pipeline.benchmarks.medley.presentation import presented
from metacog_pipeline.llm.spec import ModelSpec

START = datetime(2026, 1, 1, tzinfo=UTC)
FINAL = (
    "Initially I rated this low. Analyst A argues that the pressure of 3.5 bar fell first, which I had overlooked.",
    "Although Analyst B is right about the valve, I keep my view because 12 alarms came after it was replaced.",
)


def judgements(table, source="measured", model="m"):
    """Rows from {judge: [grade of instance 1, 2, …]}; None for no grade."""
    rows = [
        {
            "dataset": "published",
            "condition": "normal",
            "model": model,
            "run": 1,
            "judge": judge,
            "judge_place": place,
            "item_id": f"I{number}",
            **dict.fromkeys(JUDGE_DIMENSIONS, value),
            "reading": "strict",
            "source": source,
        }
        for place, (judge, values) in enumerate(table.items())
        for number, value in enumerate(values)
    ]
    return pl.DataFrame(rows, schema=JUDGEMENT_SCHEMA)


@pytest.fixture(scope="session")
def wording():
    return load_judge_wording()


@pytest.fixture
def case(debate, reply):
    """Return a function that makes a case out of the texts of its final answer."""

    def build(final=FINAL, condition="normal", number=1, first=("The valve failed.",), **changes):
        item = presented(debate(number, **changes.pop("item", {})), condition)
        before = condensed(reply(["high"] * 5, list(first) * 5))
        after = condensed(reply(["low", "high", "high", "high", "high"], (list(final) * 5)[:5]))
        return Case(item, condition, before, after, **changes)

    return build


@pytest.fixture(scope="session")
def judge():
    """Return a function that makes a judge of a family."""

    def build(family, name=None, provider="openai", **more):
        return ModelSpec(
            name=name or f"judge-{family}", provider=provider, model=f"{family}-1", family=family, **more
        )

    return build


@pytest.fixture(scope="session")
def verdict():
    """Return a function that makes the text of a judgement: one grade for all criteria, and exceptions."""

    def build(grade=2, **changes):
        return json.dumps({**dict.fromkeys(CRITERIA, grade), **changes})

    return build


@pytest.fixture
def said(wording):
    """Return a function that makes the transcripts of judgements: (judge, case, text) or with more columns."""

    def build(*entries):
        rows = []
        for number, (judge, case, text, *more) in enumerate(entries):
            rows.append(
                {
                    "benchmark": BENCHMARK,
                    "answer_id": f"id-{number}",
                    "item_id": case.item_id,
                    "item_hash": case_hash(case, wording),
                    "condition": case.condition,
                    "step": "judge",
                    "model": judge.name,
                    "run": 1,
                    "status": "ok",
                    "mode": "text",
                    "text": text,
                    "source": "measured",
                    "latency_s": 1.0,
                    "cost_usd": 0.5,
                    "input_tokens": 10,
                    "output_tokens": 3,
                    "error_code": None,
                    "error_message": None,
                    "logprobs_json": None,
                    "superseded": False,
                    "started_at": START + timedelta(seconds=number),
                    **(more[0] if more else {}),
                }
            )
        return pl.DataFrame(rows, infer_schema_length=None)

    return build
