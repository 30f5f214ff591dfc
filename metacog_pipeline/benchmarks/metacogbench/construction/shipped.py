"""Items as TOML: the shipped texts are read from it, generated ones are written to it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.metacogbench import items as kinds
from metacog_pipeline.benchmarks.metacogbench.items import (
    SETS,
    Item,
    Option,
    changed,
    item_from_record,
    item_record,
)
from metacog_pipeline.errors import SourceError, StudyError
from metacog_pipeline.files import sha256_hex, shipped

AUTHORED = ("betting", "predicting", "ecological", "ecological_controls", "sycophancy", "holding")  # .toml
PROBES = "probes.toml"
GENERATED = {
    "1a": "betting_generated.toml",
    "1b": "predicting_generated.toml",
    "3": "transfer_generated.toml",
}


def items_folder() -> Path:
    """Return the folder of the shipped texts."""
    return shipped("data", "metacogbench", "items")


def _files() -> tuple[Path, ...]:
    """Return the shipped files in the order they are read."""
    names = (*(f"{each}.toml" for each in AUTHORED), *GENERATED.values())
    return tuple(items_folder() / name for name in names)


@cache
def probes() -> Mapping[str, tuple[tuple[Option, ...], tuple[str, ...]]]:
    """Return the options and the right roles of the tasks whose probe stands apart from them, by item."""
    path = items_folder() / PROBES
    with _told(path, "a file of probes", "one"):
        return {
            each["item_id"]: (tuple(Option(**option) for option in each["options"]), tuple(each["right"]))
            for each in tomllib.loads(path.read_text(encoding="utf-8"))["probe"]
        }


@contextmanager
def _told(path: Path, kind: str, shipped_as: str) -> Iterator[None]:
    """Raise SourceError for a file that is missing, no TOML, or not of its kind."""
    try:
        yield
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}); install the package again") from None
    except (KeyError, TypeError, ValueError) as error:
        told = f"{path}: not {kind} ({error}); compare it with the shipped {shipped_as}"
        raise SourceError(told) from None


def digests() -> dict[str, str]:
    """Return {file: SHA-256} of the shipped texts."""
    return {path.name: sha256_hex(path.read_bytes()) for path in (*_files(), items_folder() / PROBES)}


@cache
def shipped_items() -> tuple[Item, ...]:
    """Return all shipped items in the order of the files."""
    return tuple(item for path in _files() for item in read_texts(path))


def items_of(item_set: str) -> list[Item]:
    """Return the items of a set, tier by tier; raises StudyError for an unknown set."""
    if item_set not in SETS:
        raise StudyError(f"metacogbench: unknown set {item_set!r}; there are: {', '.join(SETS)}")
    own = (_of_set(item, item_set) for item in shipped_items() if _belongs(item, item_set))
    return sorted(own, key=_place)


def _belongs(item: Item, item_set: str) -> bool:
    """Return whether an item is in a set: the first version holds all of the present one but what is new in it."""
    if item_set == "metacog147-v1" and not (item.tier == "2b" or item.control):
        return "metacog147" in item.sets
    return item_set in item.sets


def _of_set(item: Item, item_set: str) -> Item:
    options, right = probes().get(item.item_id, ((), ())) if item_set == "metacog147" else ((), ())
    return changed(item, options=options, right=right) if options else item


def _place(item: Item) -> tuple[int, int]:
    """Sort by tier, then by family or difficulty; within these the order of the files stays."""
    if item.tier == "1a":
        return 0, kinds.FAMILIES.index(item.family)
    return kinds.TIERS.index(item.tier), kinds.DIFFICULTIES.index(item.difficulty) if item.tier == "1b" else 0


def read_texts(path: Path) -> list[Item]:
    """Read the items of one TOML file; SourceError if it is missing, no TOML, or holds what is no item."""
    with _told(path, "a file of items", "ones"):
        listed = tomllib.loads(path.read_text(encoding="utf-8"))["item"]
        return [_usable(item_from_record(record), path) for record in listed]


def _usable(item: Item, path: Path) -> Item:
    """Return the item; raise SourceError for one that cannot be asked or scored."""
    from metacog_pipeline.benchmarks.metacogbench.construction.invariants import check_shape

    if (wrong := next(check_shape(item), None)) is not None:
        raise SourceError(f"{path}: {item.item_id}: {wrong}")
    return item


def to_toml(items: Iterable[Item], heading: str) -> str:
    """Return items as TOML that `read_texts` reads back as they were."""
    lines = [f"# {line}" for line in heading.splitlines()]
    for item in items:
        lines += ["", "[[item]]"]
        for name, value in item_record(item).items():
            if name != "canary":
                lines += _entry(name, value)
    return "\n".join(lines) + "\n"


def _entry(name: str, value: Any) -> list[str]:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [f"{name} = [", *(f"    {_value(each)}," for each in value), "]"]
    return [f"{name} = {_value(value)}"]


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_value(v)}" for k, v in value.items() if v is not None) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str) and "\n" in value and "'''" not in value:
        return f"'''\n{value}'''"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)
