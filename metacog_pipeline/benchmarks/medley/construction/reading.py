"""JSON and TOML files of unknown origin, read with errors of one line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DOMAINS
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import read_toml
from metacog_pipeline.sources import read_bytes
from metacog_pipeline.study.allowed import not_toml

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
        return read_toml(path)
    except FileNotFoundError:
        raise SourceError(f"{path}: no such file; check the path") from None
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}); replace the file") from None
    except (ValueError, RecursionError) as error:
        said = not_toml(error) if isinstance(error, ValueError) else "nested too deeply"
        raise SourceError(f"{path}: cannot be read as TOML: {said}; mend it") from None


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


def domain_of(given: Mapping[str, Any], where: str) -> str:
    """Return the domain of a case or seed; SourceError for another than the five."""
    domain = text_of(given, "domain", where)
    if domain not in DOMAINS:
        raise SourceError(f"{where}: domain {domain!r} is not one of {', '.join(DOMAINS)}")
    return domain


def five(claims: Sequence[str], where: str) -> tuple[str, ...]:
    """Return the claims of a case or seed; SourceError where they are not five different ones."""
    if len(claims) != len(CLAIM_IDS) or len(set(claims)) < len(claims):
        raise SourceError(
            f"{where}: {len(claims)} claims, some perhaps equal; {len(CLAIM_IDS)} different ones are needed"
        )
    return tuple(claims)


def refuse_twice(names: Sequence[str], path: Path, what: str) -> None:
    """Raise SourceError where a name stands twice."""
    for name in (name for name in names if names.count(name) > 1):
        raise SourceError(f"{path}: {name!r} is given twice; each {what} needs an id of its own")


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
