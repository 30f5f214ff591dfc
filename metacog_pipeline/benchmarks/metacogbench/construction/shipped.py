"""Items as TOML: the shipped texts are read from it, generated ones are written to it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.metacogbench.items import (
    DIFFICULTIES,
    FAMILIES,
    SETS,
    TIERS,
    Item,
    Option,
    changed,
    item_from_record,
    item_record,
)
from metacog_pipeline.errors import SourceError, StudyError
from metacog_pipeline.files import sha256_hex, shipped

AUTHORED = (
    "betting.toml",
    "predicting.toml",
    "ecological.toml",
    "ecological_controls.toml",
    "sycophancy.toml",
    "holding.toml",
)
PROBES = "probes.toml"
GENERATED = {
    "1a": "betting_generated.toml",
    "1b": "predicting_generated.toml",
    "3": "transfer_generated.toml",
}


def items_folder() -> Path:
    """Return the folder of the shipped texts."""
    return shipped("data", "metacogbench", "items")


def shipped_files() -> tuple[Path, ...]:
    """Return the shipped files in the order they are read."""
    return tuple(items_folder() / name for name in (*AUTHORED, *GENERATED.values()))


@cache
def probes() -> Mapping[str, tuple[tuple[Option, ...], tuple[str, ...]]]:
    """Return the options and the right roles of the tasks whose probe stands apart from them, by item."""
    path = items_folder() / PROBES
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8"))["probe"]
        return {
            each["item_id"]: (tuple(Option(**option) for option in each["options"]), tuple(each["right"]))
            for each in listed
        }
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}); install the package again") from None
    except (KeyError, TypeError, ValueError) as error:
        raise SourceError(
            f"{path}: not a file of probes ({error}); compare it with the shipped one"
        ) from None


def digests() -> dict[str, str]:
    """Return {file: SHA-256} of the shipped texts."""
    return {path.name: sha256_hex(path.read_bytes()) for path in (*shipped_files(), items_folder() / PROBES)}


@cache
def shipped_items() -> tuple[Item, ...]:
    """Return all shipped items in the order of the files."""
    return tuple(item for path in shipped_files() for item in read_texts(path))


def items_of(item_set: str) -> list[Item]:
    """Return the items of a set, tier by tier; raises StudyError for an unknown set."""
    if item_set not in SETS:
        raise StudyError(f"metacogbench: unknown set {item_set!r}; there are: {', '.join(SETS)}")
    return sorted(
        (_of_set(item, item_set) for item in shipped_items() if _belongs(item, item_set)), key=_place
    )


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
        return 0, FAMILIES.index(item.family)
    return TIERS.index(item.tier), DIFFICULTIES.index(item.difficulty) if item.tier == "1b" else 0


def read_texts(path: Path) -> list[Item]:
    """Read the items of one TOML file; SourceError if it is missing, no TOML, or holds what is no item."""
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8"))["item"]
        return [_usable(item_from_record(record), path) for record in listed]
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}); install the package again") from None
    except (KeyError, TypeError, ValueError) as error:
        raise SourceError(
            f"{path}: not a file of items ({error}); compare it with the shipped ones"
        ) from None


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
