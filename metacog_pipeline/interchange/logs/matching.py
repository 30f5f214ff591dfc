"""Which items the samples of a log are about: one question is one item under any name; new ones become items.

A question is its text, the passage before it and the set of its options. An id is a name for it: where the item of that
name asks something else, the question is another item. Where the same question comes twice from one model, under another
id or a repeat index, its answers are runs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.files import sha256_hex, write_text
from metacog_pipeline.interchange.importing import MOST_RUNS
from metacog_pipeline.interchange.question import LETTERS, Question
from metacog_pipeline.interchange.question_rows import flat, identity, in_order_of, question_of
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.reading.envelope import plain, unboxed
from metacog_pipeline.reading.names import same

_NAMED = 3
_OTHER = "new, another question under a known id"


@dataclass(slots=True)
class Matched:
    """Items by id, rows of the file of new ones, how many samples were found by what, and how many repeat a question."""

    items: Mapping[str, Question]
    new: list[dict[str, Any]]
    by: Counter[str] = field(default_factory=Counter)
    reordered: int = 0
    repeats: int = 0


def match(path: Path, items: Iterable[Question], samples: Sequence[Sample], trust: Sequence[str]) -> Matched:
    """Find the item of every sample; one that is about none gets a reason in ``why``.

    Raises ``StudyError`` where the log's key is not that of the item, unless ``key`` is trusted.
    """
    known = _Items(items)
    found, differ = Matched(known.by_id, known.rows), dict[str, str]()
    for each in samples:
        if each.why is not None:
            continue
        if each.question is None:
            if (there := known.named(each)) is None:
                name = one_line(each.name, 60)
                each.why = f"no item is called {name!r}, and the file does not hold its question"
            else:
                each.item = there.item_id
                found.by["id"] += 1
            continue
        try:
            fields = known.fields(each)
        except ValueError as error:
            each.why = f"its question cannot be used: {one_line(str(error), 80)}"
            continue
        there, by = known.find(each, fields)
        if there is None:
            there = known.add(each, fields)
        elif not _same_key(there, fields):
            keys = f"{_key(fields)}, the study {_key(there.model_dump())}"
            differ.setdefault(there.item_id, f"{there.item_id} has {keys}")
        each.item = there.item_id
        each.order = in_order_of(fields["options"], there.options) if there.options else ""
        found.by[by] += 1
        found.reordered += each.order != ""
    if differ and "key" not in trust:
        raise StudyError(
            f"{path}: the answer key disagrees with the study in {len(differ)} questions: "
            f"{'; '.join([*differ.values()][:_NAMED])}; nothing was kept; correct one of them, or score by the study's "
            "with --trust key"
        )
    found.repeats = _runs(samples)
    return found


class _Items:
    """Items of the study and of the log, by id and by what they ask; ``rows`` of those that are new."""

    def __init__(self, items: Iterable[Question]) -> None:
        self.by_id = {item.item_id: item for item in items}
        self.rows: list[dict[str, Any]] = []
        self._by_content: dict[str, list[Question]] = {}
        for item in self.by_id.values():
            self._by_content.setdefault(identity(item.question, item.options), []).append(item)
        self._new = set[str]()
        self._fields: dict[str, dict[str, Any]] = {}

    def named(self, each: Sample) -> Question | None:
        return self.by_id.get(f"{each.task}/{each.name}") or self.by_id.get(each.name)

    def fields(self, each: Sample) -> dict[str, Any]:
        """Return the fields of a question; those of runs and of several models are made once."""
        assert each.question is not None
        key = repr((each.task, *each.question.values()))
        if key not in self._fields:
            row = {**each.question, "id": f"{each.task}/{each.name}", "dataset": each.task}
            self._fields[key] = question_of(row, each.task)
        return self._fields[key]

    def find(self, each: Sample, fields: Mapping[str, Any]) -> tuple[Question | None, str]:
        """Return the item of a question and by what it was found; of none, why one of its id is not meant."""
        digest = identity(fields["question"], fields["options"])
        there = self.named(each)
        asks = there is not None and identity(there.question, there.options) == digest
        if there is not None and asks and (there.item_id not in self._new or _same_key(there, fields)):
            return there, "id"
        alike = self._by_content.get(digest, [])
        agree = [item for item in alike if _same_key(item, fields)]
        # two questions of one log that differ in their key alone are two; a study's item and a log's are one
        other = [item for item in alike if item.item_id not in self._new]
        found = next(iter([*agree, *other]), None)
        return found, "question" if found is not None else "new" if there is None else _OTHER

    def add(self, each: Sample, fields: dict[str, Any]) -> Question:
        """Return a new item, under the log's name for it where that is free."""
        assert each.question is not None
        name, digest = f"{each.task}/{each.name}", identity(fields["question"], fields["options"])
        if name in self.by_id:
            name += f"~{sha256_hex(digest + _key(fields))[:8]}"
        self.rows.append({**each.question, "id": name, "dataset": each.task})
        item = self.by_id[name] = Question(**{**fields, "item_id": name})
        self._new.add(name)
        self._by_content.setdefault(digest, []).append(item)
        return item


def _runs(samples: Sequence[Sample]) -> int:
    """Number the answers of a model to one item that the log has under several ids; return how many are moved."""
    names: dict[tuple[str, str, int], str] = {}
    last: Counter[tuple[str, str]] = Counter()
    moved, kept = 0, [each for each in samples if each.why is None]
    for each in kept:
        last[each.model, each.item] = max(last[each.model, each.item], each.run)
    for each in kept:
        name = f"{each.task}/{each.name}"
        if names.setdefault((each.model, each.item, each.run), name) != name:
            last[each.model, each.item] += 1
            each.run = last[each.model, each.item]
            names[each.model, each.item, each.run] = name
            moved += 1
        if each.run > MOST_RUNS:
            each.why = f"is repeat {each.run} of its question; {MOST_RUNS} are kept"
    return moved


def keep_new(folder: Path, found: Matched) -> None:
    """Write the new questions of a log as a file of their own, after those of earlier logs."""
    text = "".join(json.dumps(row) + "\n" for row in found.new)
    number = len(list(folder.glob("*.jsonl"))) + 1
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / f"{number:04d}-{sha256_hex(text)[:12]}.jsonl", text)


# --- keys -------------------------------------------------------------------------------------------------------------
def _same_key(item: Question, fields: Mapping[str, Any]) -> bool:
    if item.kind == "graded" or fields["kind"] == "graded":
        return True
    if (
        item.kind == "choice" or fields["kind"] == "choice"
    ):  # a letter depends on the order: the texts are compared
        texts = [
            flat(options[LETTERS.index(letter)]) if letter in LETTERS[: len(options)] else ""
            for options, letter in ((item.options, item.answer), (fields["options"], fields["answer"]))
        ]
        return item.kind == fields["kind"] and texts[0] == texts[1]
    ours = [unboxed(plain(each)) for each in (item.answer, *item.accept)]
    return any(same(mine, unboxed(plain(other))) for mine in ours for other in _forms(fields))


def _forms(fields: Mapping[str, Any]) -> list[str]:
    return [fields["answer"], *fields["accept"]]


def _key(fields: Mapping[str, Any]) -> str:
    return one_line(" or ".join(map(str, _forms(fields))), 40)
