"""JSON and TOML files of unknown origin, read with errors of one line."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import read_bytes

MAX_BYTES = 64 * 1024**2


def read_json(path: Path) -> Any:
    """Return the JSON value in a file; SourceError where it is missing, not UTF-8, or not strict JSON."""
    return _parsed(path, read_bytes(path, MAX_BYTES))


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; SourceError where it holds something else."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise SourceError(f"{path}: expected a JSON object, got {type(value).__name__}; replace the file")
    return value


def read_document(path: Path) -> dict[str, Any]:
    """Return what a TOML or, by its ending, JSON file holds; SourceError where it cannot be read."""
    if path.suffix == ".json":
        return read_object(path)
    try:
        return tomllib.loads(read_bytes(path, MAX_BYTES).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}); mend it") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SourceError(f"{path}: not TOML ({error}); mend it") from None


def objects(given: Mapping[str, Any], key: str, where: str) -> list[Mapping[str, Any]]:
    """Return an array of objects; SourceError where it is none, empty, or holds something else."""
    value = given.get(key)
    if not isinstance(value, list) or not value or not all(isinstance(each, dict) for each in value):
        raise SourceError(f"{where}: {key} is not a list of tables; at least one is needed")
    return value


def text_of(given: Mapping[str, Any], key: str, where: str) -> str:
    """Return a text that is not blank, stripped; SourceError otherwise."""
    value = given.get(key)
    if not isinstance(value, str) or not value.strip():
        raise SourceError(f"{where}: {key} is {str(value)[:40]!r}; a text is needed")
    return value.strip()


def _parsed(path: Path, raw: bytes) -> Any:
    try:
        value = json.loads(raw.decode("utf-8-sig"), parse_constant=_refuse)
        if b"\\u" in raw:  # half of a pair of surrogates is JSON but no text
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        return value
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{path}: not UTF-8 ({error.reason} at byte {error.start}); replace the file"
        ) from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: not JSON ({error}); replace the file") from None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")
