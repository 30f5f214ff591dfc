"""Labelled batches of replies read by the product's readers: ``python -m tests.batches [NAME ...] [--misses]``.

A line says the batch, how many replies it has and Cohen's kappa with its labels; what is misread follows on request.
Batches ``*_fresh_*`` and ``verdicts_*`` were written and labelled before anything had read them.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from metacog_pipeline.benchmarks.metacogbench.construction import chosen_items
from metacog_pipeline.benchmarks.metacogbench.construction.shipped import shipped_items
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import score_reply

TESTS = Path(__file__).parent
FOLDERS = ("benchmark/data", "metacogbench/data")
KINDS = ("answers_", "verdicts_")
FILES = {p.stem: p for f in FOLDERS for p in sorted((TESTS / f).glob("*.jsonl")) if p.stem.startswith(KINDS)}
ITEMS = {item.item_id: item for item in [*shipped_items(), *chosen_items("metacog147")]}


class Reading(NamedTuple):
    """What a label says of a reply and what was read; None is ambiguous."""

    group: str
    label: object
    read: object
    row: dict[str, Any]


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILES[name].read_text("utf-8").splitlines()]


def readings(name: str) -> Iterable[Reading]:
    """Read a batch; a reply may be labelled in two respects (correct and passed)."""
    for row in rows(name):
        reply = row["response"]
        item = ITEMS[row["item_id"]]
        values = score_reply(item, reply, probe=row.get("probe")).values
        if "correct" in row and item.answer_type != "none":
            said = None if values["ambiguous"] else int(values["correct"])
            yield Reading(f"{item.tier} correct", row["correct"], said, row)
        if "pre" in row:
            yield Reading(f"{item.tier} pre", row["pre"], values["pre"], row)
        if "passed" in row:
            yield Reading(f"{item.tier} passed", row["passed"], int(bool(values["passed"])), row)


def kappa(pairs: Iterable[tuple[object, object]]) -> float:
    """Return Cohen's kappa; one where both say the same single thing."""
    table = Counter(pairs)
    n = table.total()
    first, second = Counter[object](), Counter[object]()
    for (a, b), count in table.items():
        first[a] += count
        second[b] += count
    same = sum(count for (a, b), count in table.items() if a == b) / n
    chance = sum(first[value] * second[value] for value in first) / n**2
    return 1.0 if chance == 1 else (same - chance) / (1 - chance)


def by_group(name: str) -> dict[str, list[Reading]]:
    found: dict[str, list[Reading]] = {}
    for each in readings(name):
        found.setdefault(each.group, []).append(each)
    return found


def main(words: list[str]) -> None:
    wanted = [word for word in words if not word.startswith("--")]
    for name in FILES:
        if wanted and not any(word in name for word in wanted):
            continue
        for group, found in by_group(name).items():
            missed = [each for each in found if each.label != each.read]
            agreement = kappa((each.label, each.read) for each in found)
            print(f"{name:24} {group:12} n {len(found):3} misread {len(missed):3} kappa {agreement:.2f}")
            for each in missed if "--misses" in words else ():
                probe = each.row.get("probe")
                subject = each.row.get("item_id") or each.row["question"]
                print(
                    "   ",
                    each.label,
                    "read",
                    each.read,
                    subject,
                    repr(each.row["response"]),
                    repr(probe or ""),
                )


if __name__ == "__main__":
    main(sys.argv[1:])
