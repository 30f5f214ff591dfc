"""Whether a demo home still shows every number version 0.1 showed of it.

    python tests/frozen/compare.py HOME                    # against the digests kept in demo.toml
    python tests/frozen/compare.py HOME --frozen FOLDER    # against the tables themselves, a Parquet file each

A table is equal when its rows are, order aside: ``exactly`` in every bit, ``nearly`` to ten digits (which another processor
may need). Exits with 1 when a table differs.
"""

import argparse
import hashlib
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from metacog_pipeline.errors import MetacogError
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.read import query_table

HERE = Path(__file__).parent
MAP, DIGESTS = HERE / "numbers_map.toml", HERE / "demo.toml"
DIGITS = 10
ASKED_SINCE = ["metacogbench"]


class Digest(NamedTuple):
    """Of one table: its rows, and digests of them in every bit and to ten digits."""

    rows: int
    exactly: str
    nearly: str


def entries() -> Mapping[str, Mapping[str, str]]:
    """Return old name → query, or why it is gone."""
    return tomllib.loads(MAP.read_text("utf-8"))


def kept() -> dict[str, Digest]:
    """Return old name → digest of what version 0.1 showed."""
    return {name: Digest(**found) for name, found in tomllib.loads(DIGESTS.read_text("utf-8")).items()}


def digest(table: pa.Table, columns: list[str] | None = None) -> Digest:
    """Return the digest of ``table``, of some of its columns where they are given."""
    frame = pl.DataFrame(pl.from_arrow(table)).select(sorted(columns or table.column_names))
    lines = [list(map(_texts, row)) for row in frame.iter_rows()]
    made = [
        hashlib.sha256(
            "\x1e".join(sorted("\x1f".join(cell[which] for cell in row) for row in lines)).encode()
        )
        for which in (0, 1)
    ]
    return Digest(frame.height, *(each.hexdigest()[:16] for each in made))


def _texts(value: object) -> tuple[str, str]:
    """Return a value in full and to ten digits; whole numbers are alike whatever their type."""
    if value is None:
        return "<null>", "<null>"
    if isinstance(value, int | float):
        return float(value).hex(), f"{float(value) + 0.0:.{DIGITS}g}"
    return str(value), str(value)


def compare(home: Home, frozen: Path | None = None) -> Iterator[tuple[str, str]]:
    """Yield old name and what was found: ``equal``, ``nearly equal``, ``dropped: …`` or ``DIFFERS …``."""
    known = kept() if frozen is None else {}
    for name, entry in entries().items():
        if "dropped" in entry:
            yield name, f"dropped: {entry['dropped']}"
            continue
        try:
            table = _known_then(query_table(home, entry["sql"]))
        except MetacogError as error:
            yield name, f"DIFFERS: {error}"
            continue
        now = digest(table)
        was = known.get(name) or digest(_frozen(frozen, name, entry).to_arrow(), table.column_names)
        if now == was:
            yield name, "equal"
        else:
            same = (now.rows, now.nearly) == (was.rows, was.nearly)
            yield name, "nearly equal" if same else f"DIFFERS: {was.rows} rows were, {now.rows} are"


def _known_then(table: pa.Table) -> pa.Table:
    """Return a table without the rows of what the demo asks only since 0.3.0."""
    if "benchmark" not in table.column_names:
        return table
    return pl.DataFrame(pl.from_arrow(table)).filter(~pl.col("benchmark").is_in(ASKED_SINCE)).to_arrow()


def _frozen(folder: Path | None, name: str, entry: Mapping[str, str]) -> pl.DataFrame:
    """Return a table of version 0.1, of it the rows that ``was`` picks: the changelog tells which numbers shifted."""
    frame = pl.read_parquet(f"{folder}/{name}.parquet")
    return frame.filter(pl.sql_expr(entry["was"])) if "was" in entry else frame


def freeze(home: Home, frozen: Path) -> None:
    """Write the digests of the frozen tables, of the columns the queries name."""
    lines = []
    for name, entry in entries().items():
        if "sql" in entry:
            columns = query_table(home, entry["sql"]).column_names
            found = digest(_frozen(frozen, name, entry).to_arrow(), columns)
            lines.append(
                f'[{name}]\nrows = {found.rows}\nexactly = "{found.exactly}"\nnearly = "{found.nearly}"\n'
            )
    DIGESTS.write_text("\n".join(lines), "utf-8")


def main() -> int:
    """Print every table that is not equal, and how many are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("--frozen", type=Path)
    parser.add_argument("--freeze", action="store_true", help="write demo.toml from --frozen")
    given = parser.parse_args()
    if given.freeze:
        freeze(Home(given.home), given.frozen)
    found = dict(compare(Home(given.home), given.frozen))
    counted: dict[str, int] = {}
    for name, said in found.items():
        kind = said.split(":")[0]
        counted[kind] = counted.get(kind, 0) + 1
        if kind == "DIFFERS":
            print(f"{name}  {said}")
    print(", ".join(f"{count} {said}" for said, count in sorted(counted.items())))
    return int(any(said.startswith("DIFFERS") for said in found.values()))


if __name__ == "__main__":
    sys.exit(main())
