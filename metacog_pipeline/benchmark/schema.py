"""Schemas of tables, derived from the annotations of the classes whose rows they hold. One class, one schema."""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from typing import Annotated, Any

import polars as pl
import pyarrow as pa
from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

Flag = Annotated[int | None, pl.Int8]  # 0, 1 or nothing: what is counted of a response
Small = Annotated[int | None, pl.Int32]  # a small whole number or nothing
FROM_FILE = "from a file"  # validation context of rows that are read back
_ARROW: dict[Any, pa.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


@dataclasses.dataclass(frozen=True)
class AsJson:
    """Marks a field that a file keeps as JSON text: ``Annotated[tuple[Claim, ...], AsJson()]``.

    For parts whose shape only their source knows, and for numbers that must stay as they are written: 9 is not 9.0.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Parse the text of a file before the field is validated."""

        def parsed(value: Any, info: core_schema.ValidationInfo) -> Any:
            return json.loads(value) if info.context == FROM_FILE else value

        return core_schema.with_info_before_validator_function(parsed, handler(source))


@functools.cache
def kept_as_json(row: type[BaseModel]) -> frozenset[str]:
    """Return the names of the fields of ``row`` that are kept as JSON text."""
    fields = row.model_fields.items()
    return frozenset(name for name, field in fields if any(isinstance(m, AsJson) for m in field.metadata))


def json_text(value: Any) -> str:
    """Return a value as JSON, ASCII only, so that any text survives; dataclasses as objects, sets in order."""

    def plain(part: Any) -> Any:
        return sorted(part) if isinstance(part, frozenset) else dataclasses.asdict(part)

    return json.dumps(value, default=plain)


@functools.cache
def schema_of(row: Any) -> pl.Schema:
    """Return the Polars schema of the fields of ``row``, in their order, as `arrow_schema_of` has them."""
    return pl.DataFrame(pl.from_arrow(arrow_schema_of(row).empty_table())).schema


@functools.cache
def arrow_schema_of(row: Any) -> pa.Schema:
    """Return the Arrow schema of a class: pairs become maps, tuples lists, None makes a field nullable.

    ``Flag`` gives Int8, ``Small`` Int32. Raises TypeError for an annotation that no column can have.
    """
    as_json = kept_as_json(row) if issubclass(row, BaseModel) else ()
    fields = []
    for name, hint in typing.get_type_hints(row, include_extras=True).items():
        if name in as_json:
            fields.append(pa.field(name, pa.string(), nullable=False))
        elif typing.get_origin(hint) is not typing.ClassVar:
            fields.append(pa.field(name, _arrow(row, name, hint), nullable=_without_none(hint)[1]))
    return pa.schema(fields)


def _without_none(hint: Any) -> tuple[Any, bool]:
    """Return the type without None and its annotations, and whether None is allowed."""
    plain = hint.__origin__ if hasattr(hint, "__metadata__") else hint
    if typing.get_origin(plain) in (types.UnionType, typing.Union):
        inner = [each for each in typing.get_args(plain) if each is not types.NoneType]
        if len(inner) == 1:
            return inner[0], True
    return plain, False


def _arrow(row: type[Any], name: str, hint: Any) -> pa.DataType:
    for each in getattr(hint, "__metadata__", ()):
        if isinstance(each, type) and issubclass(each, pl.DataType):
            return pl.Series([], dtype=each).to_arrow().type
    plain, _ = _without_none(hint)
    if hasattr(plain, "__metadata__"):
        return _arrow(row, name, plain)
    origin, inside = typing.get_origin(plain), typing.get_args(plain)
    if origin is typing.Literal:
        plain = type(inside[0])
    if origin in (tuple, list):
        pair = typing.get_args(inside[0])
        if typing.get_origin(inside[0]) is tuple and len(pair) == 2 and Ellipsis not in pair:
            return pa.map_(*(_arrow(row, name, each) for each in pair))  # as a frozen model can hold a map
        return pa.list_(_arrow(row, name, inside[0]))
    if plain not in _ARROW:
        raise TypeError(
            f"{row.__name__}.{name}: no column type for {hint}; use str, int, float, bool, tuple, Flag, Small or AsJson"
        )
    return _ARROW[plain]
