"""The refit of the shipped tables as one file of the release: drawn once, read by every study.

``METACOG_WRITE_REFIT=1 pytest tests/signaldetection/test_refitted.py`` makes it anew. The file names what it was computed
from; where that is something else, because a table or a version has changed, a study fits the tables anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmark.contract import Comparison
from metacog_pipeline.files import canonical_json, sha256_hex, write_text

FILE = "refit.json"
SEED = 0  # of the release, whatever a study's own: printed numbers are judged alike everywhere


@dataclass(frozen=True, slots=True)
class Claim:
    """One number of one cell by one method; ``published`` is None where none is printed.

    ``follows`` says whether the printed number follows from the counts; None for methods the paper does not print.
    """

    place: str
    task: str
    model: str
    condition: str
    quantity: str
    method: str
    published: float | None
    recomputed: float | None
    low: float | None
    high: float | None
    n: int
    note: str | None
    status: str
    follows: bool | None = None

    @property
    def difference(self) -> float | None:
        """Recomputed minus published."""
        known = self.published is not None and self.recomputed is not None
        return self.recomputed - self.published if known else None  # type: ignore[operator]

    @property
    def verdict(self) -> str:
        """What becomes of the printed number."""
        if self.recomputed is None:
            return "not computed"
        if self.follows is None:
            return "another estimator" if self.published is not None else "not printed"
        return "follows" if self.follows else "differs"


@dataclass(frozen=True, slots=True)
class Refit:
    """The published results beside ours, and the tests between the published cells."""

    claims: Sequence[Claim]
    contrasts: Sequence[Comparison]


def made_from(data: Path, names: Sequence[str], versions: Sequence[str]) -> str:
    """Return the digest of the tables ``names`` of ``data``, of the versions and of the seed."""
    files = [[name, sha256_hex((data / name).read_bytes())] for name in sorted(names)]
    return sha256_hex(canonical_json([*versions, SEED, files]))


def read(data: Path, digest: str) -> Refit | None:
    """Return the refit kept beside the tables of ``data``; None where it was made from something else."""
    try:
        kept = json.loads((data / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if kept["made_from"] != digest:
        return None
    return Refit(
        [Claim(**row) for row in _rows(kept["claims"])],
        [Comparison(**row) for row in _rows(kept["contrasts"])],
    )


def write(data: Path, digest: str, refit: Refit) -> None:
    """Keep a refit beside the tables of ``data``."""
    kept = {
        "made_from": digest,
        "claims": _table(refit.claims),
        "contrasts": _table(refit.contrasts),
    }
    parts = (f"{json.dumps(key)}: {_lines(value)}" for key, value in kept.items())
    write_text(data / FILE, "{\n" + ",\n".join(parts) + "\n}\n")


def _table(rows: Sequence[Any]) -> dict[str, Any]:
    """Return rows as columns and values, so that no name is written twice; fields equal to their default are left out."""
    named = [{name: _plain(value) for name, value in asdict(row).items()} for row in rows]
    default = {each.name: each.default for each in fields(rows[0])}
    names = [name for name in default if any(row[name] != default[name] for row in named)]
    return {"columns": names, "rows": [[row[name] for name in names] for row in named]}


def _rows(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return (dict(zip(table["columns"], row, strict=True)) for row in table["rows"])


def _plain(value: object) -> object:
    """Return a NumPy scalar as the number or truth that it is."""
    item = getattr(value, "item", None)
    return value if item is None else item()


def _lines(value: Any) -> str:
    if not isinstance(value, dict):
        return json.dumps(value)
    rows = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in value["rows"])
    return f'{{"columns": {json.dumps(value["columns"])}, "rows": [\n{rows}\n]}}'
