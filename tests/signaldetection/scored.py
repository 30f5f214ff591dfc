"""Responses made by hand, and the numbers the pipeline makes of them."""

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.asking import construction
from metacog_pipeline.benchmark.contract import Comparison, Group, schema_of
from metacog_pipeline.benchmarks.signaldetection import SignalDetection, measures
from metacog_pipeline.benchmarks.signaldetection.items import Item, Texts
from metacog_pipeline.home import Home
from metacog_pipeline.scoring.comparisons import comparisons
from metacog_pipeline.scoring.estimates import estimates, groups_of
from metacog_pipeline.scoring.schemas import response_schema
from metacog_pipeline.study import load_study

RESPONSES = response_schema(SignalDetection)
_FOLDER = tempfile.TemporaryDirectory(prefix="metacog-sdt-")


def bound(
    home: Path | None = None, *, seed: int = 1, ratings: int = 5, allow_incomplete: bool = False, **keys: str
) -> SignalDetection:
    """The benchmark of a study whose home is ``home``; one shared by all tests where none is given."""
    home = Path(_FOLDER.name) if home is None else home
    home.mkdir(parents=True, exist_ok=True)
    (home / "words.toml").write_text(f"ratings = {ratings}\n")
    keys = {"dataset": '"sample"', "wording": '"words.toml"', **keys}
    keys["allow_incomplete"] = str(allow_incomplete).lower()
    table = "\n".join(f"{name} = {value}" for name, value in keys.items())
    (home / "study.toml").write_text(
        f'[study]\nname = "t"\nhome = "."\nseed = {seed}\nruns = 3\n[[models]]\nname = "m"\nprovider = "simulated"\n'
        f"[benchmarks.signaldetection]\n{table}\n"
    )
    found: SignalDetection = SignalDetection.of(load_study(home / "study.toml"))
    return found


def responses(
    stimulus: Any, response: Any, confidence: Any = None, status: Any = "ok", **fixed: Any
) -> pl.DataFrame:
    """Responses from columns; ``fixed`` values replace those of the schema."""
    n = len(stimulus)
    columns: dict[str, Any] = {
        **dict.fromkeys(RESPONSES.names(), [None] * n),
        "benchmark": ["signaldetection"] * n, "dataset": ["sample"] * n, "task": ["A"] * n,
        "condition": ["confidence"] * n, "model": ["m"] * n, "run": [1] * n,
        "item_id": [f"i{i:06d}" for i in range(n)], "position": list(range(n)),
        "stimulus": list(stimulus), "response": list(response),
        "confidence": [None] * n if confidence is None else list(confidence),
        "status": [status] * n if isinstance(status, str) else list(status), "source": ["measured"] * n,
        **{name: value if isinstance(value, list) else [value] * n for name, value in fixed.items()},
    }  # fmt: skip
    return pl.DataFrame(columns, schema=RESPONSES, strict=False)


@contextmanager
def fewer(n_boot: int) -> Iterator[None]:
    """Draw ``n_boot`` resamples only: most tests look at values, not at the ends of intervals."""
    usual, measures.N_BOOT = measures.N_BOOT, n_boot
    try:
        yield
    finally:
        measures.N_BOOT = usual


def groups(frame: pl.DataFrame, *, by_run: bool = False, **how: Any) -> list[Group]:
    bench = bound(**how)
    return groups_of(bench, bench.derive(frame.with_columns(cluster="item_id"), None), by_run=by_run)


def score(frame: pl.DataFrame, *, n_boot: int = 1000, by_run: bool = True, **how: Any) -> pl.DataFrame:
    with fewer(n_boot):
        found = estimates(bound(**how), groups(frame, by_run=by_run, **how))
    return found.with_columns(condition=pl.col("condition").str.split(" ").list.last())


def pool(frame: pl.DataFrame, *, n_boot: int = 1000, **how: Any) -> pl.DataFrame:
    return score(frame, n_boot=n_boot, by_run=False, **how)


def compare(frame: pl.DataFrame, *, n_boot: int = 1000, **how: Any) -> pl.DataFrame:
    with fewer(n_boot):
        return comparisons(bound(**how), groups(frame, **how))


def table(rows: Any) -> pl.DataFrame:
    schema = schema_of(Comparison)
    return pl.DataFrame(
        [tuple(getattr(row, name) for name in schema) for row in rows], schema=schema, orient="row"
    )


def unsound(items: Sequence[Item], texts: Mapping[str, Texts]) -> list[str]:
    """The ids of items that are not their source row, in task C without one "the", or are there twice."""
    by_name = {each.name: each for each in texts.values()}

    def sound(item: Item) -> bool:
        source = by_name[item.source]
        original, label = source.sentences[item.source_row], source.labels[item.source_row]
        if item.task != "C":
            return (item.text, item.stimulus) == (original, label)
        if item.stimulus == 0:
            return item.text == original.strip()
        left = "".join(item.text.split())  # without the code that deletes: white space aside
        return any(
            "".join((original[: m.start()] + original[m.end() :]).split()) == left
            for m in re.finditer("the", original, re.IGNORECASE | re.ASCII)
        )

    twice = [name for name, n in Counter(item.item_id for item in items).items() if n > 1]
    return twice + [item.item_id for item in items if not sound(item)]


@dataclass(frozen=True)
class Built:
    """The items of a study, and how many of each task and label there are."""

    items: Sequence[Item]
    counts: dict[str, int]
    path: Path


def construct(
    home: Path, dataset: str = "sample", *, tasks: str = "ABC", trials: int = 100, seed: int = 0
) -> Built:
    bench = bound(home, dataset=f'"{dataset}"', tasks=str(list(tasks)), trials=str(trials), seed=seed)
    done = construction.build(bench)
    return Built(
        bench.items, dict(done.checks["both_labels"][1]), construction.items_path(Home(home), bench.name)
    )
