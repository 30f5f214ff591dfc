"""Which items the samples of a file are about: one question is one item under any name; new ones become items.

A question is its text, the passage before it and the set of its options. An id is a name for it: where the item of that
name asks something else, the question is another item. Where the same question comes twice from one model, under another
id or a repeat index, its answers are runs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.files import sha256_hex, write_text
from metacog_pipeline.interchange.answer_cells import MOST_RUNS
from metacog_pipeline.interchange.question import LETTERS, Question
from metacog_pipeline.interchange.question_rows import flat, identity, in_order_of, question_of
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.reading.envelope import plain, unboxed
from metacog_pipeline.reading.names import same

_NAMED = 3
_OTHER = "new, another question under a known id"


def match(
    path: Path, items: Iterable[Question], samples: Sequence[Sample], trust: Sequence[str], *, new: bool = True
) -> Matched:  # fmt: skip
    """Find the item of every sample; one that is about none gets a reason in ``why``, without ``new`` also a new one.

    Raises ``StudyError`` where the log's key is not that of the item, unless ``key`` is trusted.
    """
    found, differ = Matched(items), dict[str, str]()
    for each in (one for one in samples if one.why is None):
        try:
            there, by, fields = found.find(each)
        except ValueError as error:
            each.why = f"its question cannot be used: {one_line(str(error), 80)}"
            continue
        if there is None and (not new or each.question is None or each.known):
            lacks = "its question" + ", a key and a verdict" * (each.question is not None)
            each.why = f"no item is called {one_line(each.name, 60)!r}, and the file does not hold {lacks}"
            continue
        if there is None:
            there = found.add(each, fields)
        elif fields and not _same_key(there, fields):
            keys = f"{_key(fields)}, the study {_key(there.model_dump())}"
            differ.setdefault(there.item_id, f"{there.item_id} has {keys}")
        each.item = there.item_id
        each.order = in_order_of(fields["options"], there.options) if fields.get("options") else ""
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


class Matched:
    """Items of the study and of the log, by id and by what they ask; ``new`` are rows of those that the study lacks."""

    def __init__(self, items: Iterable[Question]) -> None:
        self.items = {item.item_id: item for item in items}
        self.new: list[dict[str, Any]] = []
        self.by = Counter[str]()  # how many samples were found by what
        self.reordered = self.repeats = 0
        self._by_content: dict[str, list[Question]] = {}
        self._by_stem: dict[str, list[Question]] = {}  # a table of answers alone need not have the options
        for item in self.items.values():
            self._by_content.setdefault(identity(item.question, item.options), []).append(item)
            self._by_stem.setdefault(identity(item.question, ()), []).append(item)
        self._added = set[str]()
        self._fields: dict[str, dict[str, Any]] = {}

    def find(self, each: Sample) -> tuple[Question | None, str, dict[str, Any]]:
        """Return the item of a sample, by what it was found or why it is new, and the fields of its question."""
        there = self.items.get(f"{each.task}/{each.name}") or self.items.get(each.name)
        if each.question is None:
            if there is None or each.key is None:
                return there, "id", {}
            asked = {"question": there.question, "options": there.options or None, "kind": there.kind}
            return there, "id", question_of({**asked, "answer": each.key}, each.task)
        key = repr((each.task, *each.question.values()))
        if key not in self._fields:  # once for runs and for several models
            row = {**each.question, "id": f"{each.task}/{each.name}", "dataset": each.task}
            self._fields[key] = question_of(row, each.task)
        fields = self._fields[key]
        stems = self._by_stem if each.known and not fields["options"] else {}
        digest = identity(fields["question"], fields["options"])
        alike = self._by_content.get(digest) or stems.get(digest, [])
        if there in alike and (there.item_id not in self._added or _same_key(there, fields)):
            return there, "id", fields
        agree = [one for one in alike if _same_key(one, fields) and (one.options or not fields["options"])]
        # two questions of one log that differ in their key alone are two; a study's item and a log's are one
        found = next(iter([*agree, *(one for one in alike if one.item_id not in self._added)]), None)
        return found, "question" if found is not None else "new" if there is None else _OTHER, fields

    def add(self, each: Sample, fields: dict[str, Any]) -> Question:
        """Return a new item, under the log's name for it where that is free."""
        name, digest = f"{each.task}/{each.name}", identity(fields["question"], fields["options"])
        if name in self.items:
            name += f"~{sha256_hex(digest + _key(fields))[:8]}"
        self.new.append({**(each.question or {}), "id": name, "dataset": each.task})
        item = self.items[name] = Question(**{**fields, "item_id": name})
        self._added.add(name)
        self._by_content.setdefault(digest, []).append(item)
        return item

    def decisions(self) -> Iterator[str]:
        """Yield how samples were matched, each decision in one line."""
        yield "questions found by " + ", ".join(f"{by}: {n}" for by, n in self.by.items())
        if self.repeats:
            yield f"{self.repeats} ask a question of the log once more, under another id: taken as further runs"
        if self.reordered:
            yield f"{self.reordered} show their options in another order: each is read in its own"

    def keep(self, folder: Path) -> None:
        """Write the new questions, where there are any, as a file of their own, after those of earlier logs."""
        if not self.new:
            return
        text = "".join(json.dumps(row) + "\n" for row in self.new)
        number = len(list(folder.glob("*.jsonl"))) + 1
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / f"{number:04d}-{sha256_hex(text)[:12]}.jsonl", text)


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


# --- keys -------------------------------------------------------------------------------------------------------------
def _same_key(item: Question, fields: Mapping[str, Any]) -> bool:
    if item.kind == "graded" or fields["kind"] == "graded":
        return True
    if "choice" in (item.kind, fields["kind"]):  # a letter depends on the order: the texts are compared
        own, other = _chosen(item.options, item.answer), _chosen(fields["options"], fields["answer"])
        return item.kind == fields["kind"] and own == other
    ours, theirs = (item.answer, *item.accept), (fields["answer"], *fields["accept"])
    return any(same(unboxed(plain(mine)), unboxed(plain(other))) for mine in ours for other in theirs)


def _chosen(options: Sequence[str], letter: str) -> str:
    return flat(options[LETTERS.index(letter)]) if letter and letter in LETTERS[: len(options)] else ""


def _key(fields: Mapping[str, Any]) -> str:
    return one_line(" or ".join(map(str, (fields["answer"], *fields["accept"]))), 40)
