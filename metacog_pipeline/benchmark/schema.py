"""Schemas of tables, derived from the annotations of the classes whose rows they hold. One class, one schema."""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from collections.abc import Hashable
from typing import Annotated, Any, cast

import polars as pl
import pyarrow as pa
from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

#: 0, 1 or nothing: what is counted of a response.
Flag = Annotated[int | None, pl.Int8]
#: A small whole number or nothing.
Small = Annotated[int | None, pl.Int32]


FROM_FILE = "from a file"  # validation context of rows that are read back


@dataclasses.dataclass(frozen=True)
class AsJson:
    """Marks a field that is kept as JSON text: ``Annotated[tuple[Claim, ...], AsJson()]``. Read from it or from its value.

    For parts whose shape only their source knows, and for numbers that must stay as they are written: 9 is not 9.0. A field
    whose value may be a text itself says ``holds_text``: then only the text of a file is parsed.
    """

    holds_text: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Parse text before the field is validated."""

        def parsed(value: Any, info: core_schema.ValidationInfo) -> Any:
            told = isinstance(value, str) and (info.context == FROM_FILE or not self.holds_text)
            return json.loads(value) if told else value

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


_POLARS: dict[Any, Any] = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}
_ARROW: dict[Any, pa.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def schema_of(row: type[Any]) -> pl.Schema:
    """Return the Polars schema of the fields of ``row``, in their order.

    ``str | None`` gives String, ``Flag`` Int8, ``Small`` Int32, ``list[str]`` and ``tuple[str, ...]`` a list. Raises
    TypeError for an annotation that no column can have.
    """
    return _schema_of(cast(Hashable, row))


@functools.cache
def arrow_schema_of(row: type[BaseModel]) -> pa.Schema:
    """Return the Arrow schema of a pydantic model: pairs become maps, models structs, None makes a field nullable."""
    fields = []
    for name, hint in _hints(row).items():
        if name in kept_as_json(row):
            fields.append(pa.field(name, pa.string(), nullable=False))
            continue
        kind, nullable = _without_none(hint)
        fields.append(pa.field(name, _arrow(row, name, kind), nullable=nullable))
    return pa.schema(fields)


@functools.cache
def _schema_of(row: Any) -> pl.Schema:
    return pl.Schema({name: _column(row, name, hint) for name, hint in _hints(row).items()})


def _hints(row: type[Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(row, include_extras=True)
    return {name: hint for name, hint in hints.items() if typing.get_origin(hint) is not typing.ClassVar}


def _without_none(hint: Any) -> tuple[Any, bool]:
    """Return the type without None and its annotations, and whether None is allowed."""
    plain = hint.__origin__ if hasattr(hint, "__metadata__") else hint
    if typing.get_origin(plain) in (types.UnionType, typing.Union):
        inner = [each for each in typing.get_args(plain) if each is not types.NoneType]
        if len(inner) == 1:
            return inner[0], True
    return plain, False


def _column(row: type[Any], name: str, hint: Any) -> Any:
    marked = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, type)]
    if marked and issubclass(marked[0], pl.DataType):
        return marked[0]
    plain, _ = _without_none(hint)
    if hasattr(plain, "__metadata__"):
        return _column(row, name, plain)
    if typing.get_origin(plain) is typing.Literal:
        plain = type(typing.get_args(plain)[0])
    if typing.get_origin(plain) in (tuple, list):
        return pl.List(_column(row, name, typing.get_args(plain)[0]))
    if plain not in _POLARS:
        raise TypeError(
            f"{row.__name__}.{name}: no column type for {hint}; use str, int, float, bool, Flag or Small"
        )
    return _POLARS[plain]


def _arrow(row: type[Any], name: str, hint: Any) -> pa.DataType:
    plain, _ = _without_none(hint)
    origin, inside = typing.get_origin(plain), typing.get_args(plain)
    if origin is typing.Literal:
        plain = type(inside[0])
    if origin is dict:
        return pa.map_(_arrow(row, name, inside[0]), _arrow(row, name, inside[1]))
    if origin in (tuple, list):
        pair = inside[0]
        if (
            typing.get_origin(pair) is tuple
            and len(typing.get_args(pair)) == 2
            and Ellipsis not in typing.get_args(pair)
        ):
            key, value = typing.get_args(pair)
            return pa.map_(_arrow(row, name, key), _arrow(row, name, value))
        return pa.list_(_arrow(row, name, pair))
    if isinstance(plain, type) and issubclass(plain, BaseModel):
        return pa.struct(list(arrow_schema_of(plain)))
    if plain not in _ARROW:
        raise TypeError(
            f"{row.__name__}.{name}: no column type for {hint}; use str, int, float, bool, tuple or a model"
        )
    return _ARROW[plain]
