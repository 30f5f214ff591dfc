"""Any two models of the study against each other: the tests there are between them, chosen on the page.

The tests of a pair lie in a file of the first of its models in the order of the list, `pairs-<n>.js`, so that a study of
many models opens as fast as one of two. Nothing is computed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode

from markupsafe import Markup

from metacog_pipeline import registry
from metacog_pipeline.files import write_changed
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import text
from metacog_pipeline.report import pieces, queries
from metacog_pipeline.report.explorer import pages as explorer
from metacog_pipeline.report.pieces import Part

FOLDER = "compare"
#: Values of a row as the script reads them; keep in step with static/report.js.
COLUMNS = (
    *("benchmark", "family", "measure", "better", "under", "primary"),
    *("value", "low", "high", "p", "n", "verdict", "status", "note", "items"),
)
# Tests that hold neither a model nor a pair of conditions: a and b are the models.
_TESTS = """
    from comparisons where model is null and source <> 'published'
        and a in (select model from models) and b in (select model from models)
"""
# One row per file: its number and its tests as JSON, written by the database: there may be a hundred thousand.
_FILES = """
    with place as (select model, row_number() over (order by source, model) - 1 as number from models),
    address as (select * from (values {addresses}) as known(benchmark, condition, items)),
    tests as (
        select one.number as a, other.number as b, row_number() over (order by tests.benchmark, not "primary",
            tests.measure, family, under) as position, tests.*, labels.label, labels.higher_is_better, address.items
        from (select *, concat_ws(', ', dataset, task, condition, scoring) as under {tests}) as tests
        inner join place as one on one.model = tests.a inner join place as other on other.model = tests.b
        left join measures as labels on labels.benchmark = tests.benchmark and labels.measure = tests.measure
        left join address on address.benchmark = tests.benchmark
            and address.condition is not distinct from tests.condition
    )
    select least(a, b), string_agg(json_array(a, b, benchmark, family, coalesce(label, measure), higher_is_better,
        under, "primary", {numbers}, n, verdict, nullif(status, 'ok'),
        nullif(concat_ws('; ', case when low_n then 'low_n: too few answers for this interval' end, note), ''),
        items)::varchar, ', ' order by position)
    from tests group by least(a, b) order by 1
"""
_NUMBERS = ", ".join(
    f"case when isfinite({each}) then {each} end"
    for each in ("value", "low", "high", "coalesce(p_adjusted, p)")
)
_ABOUT = (
    "Differences on the items both models answered, from the tests of the study: nothing is computed anew for this table. "
    "A benchmark's primary test answers its question; all others show how far the answer depends on the way of testing. "
    "p is corrected over the family of the test."
)


def parts(home: Home, report: Path, explored: frozenset[str] = frozenset()) -> Iterator[Part]:
    """Write the files of all pairs below ``report`` and yield the part that shows two models.

    Tests lead to the items on which models disagree, where there are models ``explored``. Nothing is yielded, and files of
    an older report are removed, where no two models were tested.
    """
    folder = report / FOLDER
    models = [model for _, model in queries.models(home)]
    place = {model: number for number, model in enumerate(models)}
    pairs = queries.rows(home, f"select distinct a, b {_TESTS} order by all")
    kept = set()
    if pairs:
        asked = queries.rows(home, f"select distinct benchmark, condition {_TESTS}")
        sql = _FILES.format(addresses=_addresses(asked, bool(explored)), tests=_TESTS, numbers=_NUMBERS)
        kept = {_file(folder, *row) for row in queries.rows(home, sql)}
    for old in set(folder.glob("pairs-*.js")) - kept:
        old.unlink()
    if pairs:
        numbered = [(place[a], place[b]) for a, b in pairs]
        tested = sorted({benchmark for benchmark, _ in asked} & set(registry.names()))
        body = _chooser(models, numbered, _first_pair(home, place, numbered), tested)
        yield Part("compare", "Compare two models", body)


def _addresses(asked: Iterable[tuple[str, str | None]], explored: bool) -> str:
    """Return SQL rows of benchmark, condition and where the explorer shows the items on which models disagree."""
    return ", ".join(
        f"({text(benchmark)}, {'null::varchar' if condition is None else text(condition)}, "
        f"{text(_items(benchmark, condition)) if explored else 'null::varchar'})"
        for benchmark, condition in asked
    )


def _items(benchmark: str, condition: str | None) -> str:
    """Return where the explorer shows the items of a test on which models disagree."""
    asked = {"benchmark": benchmark, "which": "disagree"} | ({"condition": condition} if condition else {})
    return f"{explorer.FOLDER}/{explorer.PAGE}#{urlencode(asked)}"


def _file(folder: Path, first: int, rows: str) -> Path:
    """Write the tests of one model against all that follow it; the file cannot end a script or hold markup."""
    path = folder / f"pairs-{first}.js"
    write_changed(path, f"pairs({first}, [{rows}]);\n".replace("<", "\\u003c"))
    return path


def _first_pair(home: Home, place: Mapping[str, int], pairs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the pair shown first: the two that stand highest on the first headline, where they were tested."""
    tested = {frozenset(pair) for pair in pairs}
    ranked = queries.rows(
        home,
        "select benchmark, source, model from leaderboard where headline and source <> 'published' and rank is not null "
        "order by benchmark, source, rank, model",
    )
    for (benchmark, source, one), (*where, other) in pairwise(ranked):
        both = (place.get(one, -1), place.get(other, -1))
        if where == [benchmark, source] and frozenset(both) in tested:
            return both
    return pairs[0]


def _chooser(
    models: Sequence[str], pairs: Sequence[tuple[int, int]], chosen: tuple[int, int], tested: Iterable[str]
) -> Markup:
    asks = {
        name: {question.primary[0]: question.asks for question in registry.load(name).questions}
        for name in tested
    }
    given = {
        "models": [str(pieces.words(model)) for model in models],
        "asks": asks,
        "columns": COLUMNS,
        "chosen": chosen,
        "folder": FOLDER,
    }
    contents = Markup(json.dumps(given).replace("<", "\\u003c"))
    listed = [(number, models[number]) for number in sorted({number for pair in pairs for number in pair})]
    return pieces.paragraph(_ABOUT, "soft") + pieces.chooser(listed, chosen, contents)
