"""Observations made by hand, for scoring and comparing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmarks.selfknowledge.observe import OBSERVATION_SCHEMA

Rows = Callable[..., pl.DataFrame]


@pytest.fixture
def rows() -> Rows:
    """Return ``rows(correct, yes, …)``: one observation per entry; further columns as keyword arguments or lists."""

    def make(correct: Sequence[int], yes: Sequence[int | None], **more: object) -> pl.DataFrame:
        n = len(correct)
        given: dict[str, object] = {
            "benchmark": "selfknowledge",
            "dataset": "sample",
            "condition": "dual",
            "language": "en",
            "model": "alpha",
            "run": 1,
            "item_id": [f"q{i:05d}" for i in range(n)],
            "answerable": 1,
            "correct": list(correct),
            "correct_strict": list(correct),
            "yes": list(yes),
            "yes_strict": list(yes),
            "yes_reference": [0 if each is None else each for each in yes],
            "truncated": 0,
            "meta_truncated": 0,
            "status": ["ok" if each is not None else "meta_invalid" for each in yes],
            "matching": "inclusion",
            "yes_no": "default",
            "source": "measured",
        } | more
        if given["condition"] == "idk":
            given |= {"abstained": [None if each is None else 1 - each for each in yes], "status": "ok"}
            given |= {"yes": None, "yes_strict": None, "yes_reference": None} | more
        columns = {name: given.get(name) for name in OBSERVATION_SCHEMA}
        spread = {name: value if isinstance(value, list) else [value] * n for name, value in columns.items()}
        return pl.DataFrame(spread, schema=OBSERVATION_SCHEMA)

    return make


@pytest.fixture
def observer(rows: Rows) -> Callable[..., pl.DataFrame]:
    """Return ``observer(n, accuracy, d, seed, …)``: an observer with this type-2 d′ and a graded yes."""

    def make(
        n: int, accuracy: float, d: float, seed: int = 0, shift: float = 0.0, **more: object
    ) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        right = (rng.random(n) < accuracy).astype(int)
        evidence = rng.normal(size=n) + d * (right - 0.5) - shift
        graded = 1 / (1 + np.exp(-evidence))
        given: dict[str, object] = {"confidence": graded.tolist()}
        return rows(right.tolist(), (evidence > 0).astype(int).tolist(), **(given | more))

    return make
