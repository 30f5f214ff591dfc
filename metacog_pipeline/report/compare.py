"""Any two models of the study against each other: the tests there are between them, chosen on the page.

The tests of a pair lie in a file of the first of its models in the order of the list, `pairs-<n>.js`, so that a study of
many models opens as fast as one of two. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from metacog_pipeline import registry
from metacog_pipeline.files import write_changed
from metacog_pipeline.home import Home
from metacog_pipeline.report import explorer, pieces, queries
from metacog_pipeline.report.escapes import script_data
from metacog_pipeline.report.pieces import Part

FOLDER = "compare"
#: Values of a test, and of a kind of tests, as the script reads them; keep in step with static/report.js.
COLUMNS = ("value", "low", "high", "p", "n", "verdict", "status", "note")
KIND = ("benchmark", "family", "measure", "better", "under", "primary", "items")
# Tests that hold neither a model nor a pair of conditions: a and b are the models. What those of many pairs have in
# common, their kind, stands once, numbered in the order in which the tests of a pair are shown.
_OF_KIND = ("benchmark", '"primary"', "measure", "family", "dataset", "task", "condition", "scoring")
_TESTS = f"""
    with place as (select model, row_number() over (order by source, model) - 1 as number from models),
    tests as (
        select tests.*, one.number as first, other.number as second from comparisons as tests
        inner join place as one on one.model = tests.a inner join place as other on other.model = tests.b
        where tests.model is null and tests.source <> 'published'
    ),
    kinds as (
        select *, concat_ws(', ', dataset, task, condition, scoring) as under, row_number() over (
            order by benchmark, not "primary", measure, family, under, dataset, task, condition, scoring
        ) - 1 as kind
        from (select distinct {", ".join(_OF_KIND)} from tests)
    )
"""
_PAIRS = f"{_TESTS} select first, second from tests group by first, second, a, b order by a, b"
_KINDS = f"""{_TESTS}
    select kinds.benchmark, family, coalesce(label, kinds.measure), higher_is_better, under, "primary", condition
    from kinds left join measures on measures.benchmark = kinds.benchmark and measures.measure = kinds.measure
    order by kind
"""
_NUMBERS = ", ".join(
    f"case when isfinite({each}) then {each} end"
    for each in (
        "value",
        "coalesce(low_adjusted, low)",
        "coalesce(high_adjusted, high)",
        "coalesce(p_adjusted, p)",
    )
)
_ROWS = f"""{_TESTS}
    select first, second, kind, {_NUMBERS}, n, verdict, nullif(status, 'ok'), nullif(concat_ws('; ',
        case when low_n then 'low_n: too few answers for this interval' end,
        case when n_left_out > 0 then n_left_out || ' items without an answer are left out' end, note), '')
    from tests
    inner join kinds on {" and ".join(f"kinds.{each} is not distinct from tests.{each}" for each in _OF_KIND)}
    order by least(first, second), kind, first, second
"""
_ABOUT = (
    "Differences on the items both models answered, from the tests of the study: nothing is computed anew for this table. "
    "A benchmark's primary test answers its question; all others show how far the answer depends on the way of testing. "
    "Interval and p are those of the family of the test."
)


def parts(home: Home, report: Path, explored: frozenset[str] = frozenset()) -> Iterator[Part]:
    """Write the files of all pairs below ``report`` and yield the part that shows two models.

    Tests lead to the items on which models disagree, where there are models ``explored``. Nothing is yielded, and files of
    an older report are removed, where no two models were tested.
    """
    folder = report / FOLDER
    models = [model for _, model in queries.models(home)]
    pairs = [(first, second) for first, second in queries.rows(home, _PAIRS)]
    kept = set(_write(home, folder))
    for old in set(folder.glob("pairs-*.js")) - kept:
        old.unlink()
    if pairs:
        kinds = [
            (*kind, _items(kind[0], condition) if explored else None)
            for *kind, condition in queries.rows(home, _KINDS)
        ]
        body = _chooser(models, pairs, kinds)
        yield Part("compare", "Compare two models", body)


def _items(benchmark: str, condition: str | None) -> str:
    """Return where the explorer shows the items of a test on which models disagree."""
    asked = {"benchmark": benchmark, "which": "disagree"} | ({"condition": condition} if condition else {})
    return explorer.address(asked)


def _write(home: Home, folder: Path) -> Iterator[Path]:
    """Write the tests of each model against all that follow it, and yield the files."""
    for first, rows in groupby(queries.rows(home, _ROWS), key=lambda row: min(row[:2])):
        path = folder / f"pairs-{first}.js"
        write_changed(path, f"pairs({first}, {script_data(list(rows))});\n")
        yield path


def _chooser(
    models: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    kinds: Sequence[tuple[Any, ...]],
) -> Markup:
    tested = sorted({benchmark for benchmark, *_ in kinds} & set(registry.names()))
    asks = {
        name: {question.primary[0]: question.asks for question in registry.load(name).questions}
        for name in tested
    }
    given = {
        "models": models,
        "asks": asks,
        "kinds": [dict(zip(KIND, kind, strict=True)) for kind in kinds],
        "columns": COLUMNS,
        "folder": FOLDER,
    }
    listed = [(number, models[number]) for number in sorted({number for pair in pairs for number in pair})]
    return pieces.paragraph(_ABOUT, "soft") + pieces.chooser(listed, pairs[0], script_data(given))
