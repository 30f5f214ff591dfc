"""Published beside measured, and how many of the printed numbers hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from metacog_pipeline.leaderboard.output import fixed
from metacog_pipeline.leaderboard.read import Rows, read_table
from metacog_pipeline.report.cells import shown
from metacog_pipeline.report.figures import Point, ladder
from metacog_pipeline.report.html import Part, figure, folded, linked, paragraph, table

_HERE, _PRINTED = "measured here", "as printed"
_MOST_ROWS = 40  # of a figure; the table has all
#: Benchmark → its paper, the part of the page with all checks.
_PAPERS = {
    "metamedqa": ("doi:10.1038/s41467-024-55628-6", "metamedqa-published"),
    "signaldetection": ("arXiv:2603.29693", "published"),
    "medley": ("arXiv:2604.16009", "medley-published"),
    "metacogbench": ("openreview ayRu5RL4Hb", "metacog-published"),
    "selfknowledge": ("arXiv:2602.02605", "self-published"),
}
_AGREES = ("holds", "holds if cut off", "follows", "reproduced")
_DIFFERS = ("does not hold", "differs")
_NOT_BESIDE = (
    "Published numbers stand beside those of a study that asks real models the published questions. This one does not, so "
    "they stand in the parts of each benchmark only."
)


def parts(home: Path) -> Iterator[Part]:
    """Yield what is published beside what was measured, and the audit of all printed numbers."""
    asked = [str(row[0]) for row in read_table(home, "from int_benchmarks order by all").rows]
    known = [name for name in _PAPERS if name in asked]
    if known:
        yield Part("beside", "Published beside measured", _beside(home))
        yield Part("audit", "Do the printed numbers hold?", _audit(home, known))


def _beside(home: Path) -> str:
    found = read_table(
        home,
        "select board.benchmark, board.condition, board.measure, source, model, estimate, low, high from board "
        "inner join int_headlines using (benchmark, condition, measure) where source <> 'simulated' "
        "and estimate is not null order by board.benchmark, estimate desc, model",
    ).rows
    made = []
    for (benchmark, condition, measure), group in groupby(found, key=lambda row: row[:3]):
        own = list(group)
        if {row[3] for row in own} != {"measured", "published"}:
            continue
        rows = [(str(row[4]), {_PRINTED if row[3] == "published" else _HERE: _point(row[5:])}) for row in own]
        title = f"{benchmark}, {condition}: {str(measure).replace('_', ' ')}"
        drawn = ladder(rows[:_MOST_ROWS], steps=(_HERE, _PRINTED), x=title)
        rest = f" The best {_MOST_ROWS} only." if len(rows) > _MOST_ROWS else ""
        made.append(figure(drawn, f"{title}, with 95 % intervals where there are any.{rest}"))
        columns = ("model", "source", "value", "95 % interval")
        body = tuple((row[4], row[3], shown(row[5]), _ends(row[6:])) for row in own)
        made.append(folded(f"{title}, all", table(Rows(columns, body), title)))
    return "".join(made) or paragraph(_NOT_BESIDE, "soft")


def _audit(home: Path, benchmarks: Sequence[str]) -> str:
    rows = []
    for name in benchmarks:
        # `name` is one of the five above.
        told = {
            str(verdict): int(str(count))
            for verdict, count in read_table(
                home, f"select verdict, count(*) from published_checks_{name} group by verdict"
            ).rows
        }
        agree = sum(told.get(verdict, 0) for verdict in _AGREES)
        differ = sum(told.get(verdict, 0) for verdict in _DIFFERS)
        total = sum(told.values())
        other = ", ".join(
            f"{count} {verdict}"
            for verdict, count in sorted(told.items())
            if verdict not in _AGREES + _DIFFERS
        )
        rows.append((name, total, agree, differ, other, _PAPERS[name][0]))
    columns = ("benchmark", "checked", "hold", "do not", "besides", "printed in")
    said = (
        "Every printed number that can be computed again, from the counts or the numbers printed with it. What does not "
        "hold is listed, with reasons, in: "
    )
    links = ", ".join(linked(f"#{_PAPERS[name][1]}", name) for name in benchmarks)
    return table(Rows(columns, tuple(rows)), "The printed numbers, computed again") + (
        f'<p class="soft">{said}{links}.</p>'
    )


def _point(ends: Sequence[object]) -> Point:
    value, low, high = (end if isinstance(end, float) else None for end in ends)
    return Point(value or 0.0, low, high)


def _ends(ends: Sequence[object]) -> object:
    low, high = ends
    if not isinstance(low, float) or not isinstance(high, float):
        return None
    return f"{fixed(low, 3)} to {fixed(high, 3)}"
