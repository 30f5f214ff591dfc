"""Results of construction steps on disk: Parquet by the annotations of a row class. A file is whole or absent."""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ValidationError

from metacog_pipeline.benchmark.item import Item
from metacog_pipeline.benchmark.schema import FROM_FILE, arrow_schema_of, json_text, kept_as_json
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, replacing, sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.study.frames import MARK

HASH = "item_hash"
_READ = 10_000  # rows made at once
_NOT_BUILT = "the items are not built yet; run `metacog run` or build them in the UI"


def items_path(home: Home, benchmark: str) -> Path:
    """Return where the items of a study are kept."""
    return home.items / f"{benchmark}.parquet"


def step_path(home: Home, benchmark: str, step: str) -> Path:
    """Return where the result of a construction step before the items is kept."""
    return home.items / benchmark / f"{step}.parquet"


def write_rows(path: Path, rows: Sequence[BaseModel], row: type[BaseModel], input_digest: str) -> None:
    """Write rows with the digest of what they were made from; SourceError if they are none of ``row``."""
    schema, as_json = arrow_schema_of(row), kept_as_json(row)
    plain, values = {*schema.names} - as_json, list[dict[str, Any]]()
    for each in rows:
        if not isinstance(each, BaseModel) or not {*schema.names} <= type(each).model_fields.keys():
            raise SourceError(
                f"a row is a {type(each).__name__}, no {row.__name__}; return rows of {row.__name__}, as the step writes"
            )
        texts = {name: json_text(getattr(each, name)) for name in as_json}
        values.append({**each.model_dump(include=plain), **texts})
    if issubclass(row, Item):
        schema = schema.append(pa.field(HASH, pa.string(), nullable=False))
        for value, digest in zip(values, _hashes(rows, row), strict=True):
            value[HASH] = digest
    table = pa.Table.from_pylist(values, schema=schema)
    with replacing(path) as temporary:
        pq.write_table(table.replace_schema_metadata({MARK: input_digest}), temporary, compression="zstd")


def _hashes(items: Sequence[Any], row: type[Item]) -> list[str]:
    try:
        return [each.item_hash for each in items]
    except (TypeError, ValueError, RecursionError) as error:
        raise SourceError(
            f"{row.__name__}.asked_and_scored_by() cannot be kept as JSON ({error}); return texts, numbers, lists and "
            "dictionaries"
        ) from error


def read_rows(path: Path, row: type[BaseModel]) -> list[Any]:
    """Return the rows of ``path`` as ``row``, in file order.

    SourceError if the file is missing, torn, of another schema, or a row's ``item_hash`` is not that of its item.
    """
    try:
        with pq.ParquetFile(path) as file:  # ``pq.read_table`` would load what reads folders
            table = file.read()
    except FileNotFoundError:
        raise SourceError(f"{path}: {_NOT_BUILT}") from None
    except (OSError, pa.ArrowException) as error:
        raise SourceError(f"{path}: cannot be read ({error}); delete it and build the items again") from None
    if not set(arrow_schema_of(row).names) <= set(table.column_names):
        said = "the columns are not those of this version; delete it and build the items again"
        raise SourceError(f"{path}: {said}")
    parts = (part.to_pylist() for part in table.to_batches(max_chunksize=_READ))  # never all of them twice
    return [_row(path, row, value) for part in parts for value in part]


def _row(path: Path, row: type[BaseModel], value: dict[str, Any]) -> Any:
    noted = value.pop(HASH, None)
    with contextlib.suppress(ValidationError, ValueError, TypeError, RecursionError):
        made = row.model_validate({name: value[name] for name in row.model_fields}, context=FROM_FILE)
        if not isinstance(made, Item) or made.item_hash == noted:
            return made
    # Whoever asked it would pay for the answers to an item that changed, again and again.
    why = f"was changed by hand, or {row.__name__}.asked_and_scored_by() gives something else each time"
    to_do = (
        "leave dates, random numbers, hash() and id() out of it, delete the file and build the items again"
    )
    raise SourceError(f"{path}: {value.get('item_id', 'a row')} {why}; {to_do}")


def load_items(home: Home, benchmark: str, row: type[Item]) -> Sequence[Any]:
    """Return the items of a study, read once for each version of the file; SourceError before they are built."""
    return _loaded(home, benchmark, row)[0]


def items_digest(home: Home, benchmark: str, row: type[Item]) -> str:
    """Return the digest of everything that decides how a study's items are asked and scored."""
    return _loaded(home, benchmark, row)[1]


def _loaded(home: Home, benchmark: str, row: type[Item]) -> tuple[tuple[Any, ...], str]:
    path = items_path(home, benchmark)
    return _items(path, path.stat().st_mtime_ns if path.exists() else 0, row)


@functools.lru_cache(maxsize=16)  # every partition of a study asks the same items
def _items(path: Path, changed: int, row: type[Item]) -> tuple[tuple[Any, ...], str]:
    items = tuple(read_rows(path, row))
    return items, sha256_hex(canonical_json([[each.item_id, each.item_hash] for each in items]))


def unusable(items: Sequence[Item]) -> str | None:
    """Return why no model can be asked these items: there are none, or two have one id; None where they can be."""
    if not items:
        return "no items; let the last construction step return at least one"
    [(name, times)] = Counter(each.item_id for each in items).most_common(1)
    said = f"{times} items have the item_id {name!r}; answers are kept by it, make it unique"
    return said if times > 1 else None
