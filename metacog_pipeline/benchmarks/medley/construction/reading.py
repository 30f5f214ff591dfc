"""JSON and TOML files of unknown origin, read with errors of one line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import read_toml
from metacog_pipeline.sources import read_bytes
from metacog_pipeline.study.allowed import not_toml

MAX_BYTES = 64 * 1024**2


def read_json(path: Path) -> Any:
    """Return the JSON value in a file; SourceError where it is missing, not UTF-8, or not strict JSON."""
    raw = read_bytes(path, MAX_BYTES)
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
        return read_toml(path)
    except FileNotFoundError:
        raise SourceError(f"{path}: no such file; check the path") from None
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}); replace the file") from None
    except (ValueError, RecursionError) as error:
        said = not_toml(error) if isinstance(error, ValueError) else "nested too deeply"
        raise SourceError(f"{path}: cannot be read as TOML: {said}; mend it") from None


def text_of(given: Mapping[str, Any], key: str, where: str) -> str:
    """Return a text that is not blank, stripped; SourceError otherwise."""
    value = given.get(key)
    if not isinstance(value, str) or not value.strip():
        raise SourceError(f"{where}: {key} is {str(value)[:40]!r}; a text is needed")
    return value.strip()


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")
