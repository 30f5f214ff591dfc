"""Which items the samples of a log are about: one question is one item, whatever it is called; new ones become items.

A question is its text, the passage before it and the set of its options. An id is a name for it: where the item of that
name asks something else, the question is another item. Where the same question comes twice from one model, under another
id or a repeat index, its answers are runs.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.files import sha256_hex, write_text
from metacog_pipeline.interchange.question import LETTERS, Question
from metacog_pipeline.interchange.question_rows import flat, identity, in_order_of, quantity, question_of
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.reading.envelope import plain, unboxed
from metacog_pipeline.reading.names import same

MOST_RUNS = 99
_NAMED = 3
_MOST_CUT = 9  # paragraphs of instructions before or behind a question
_LABEL = re.compile(r"^\s*(?:question|q)\s{0,3}[:.]\s", re.IGNORECASE)
_OTHER = "new, another question under a known id"


@dataclass(slots=True)
class Matched:
    """Rows of the file of new items, how many samples were found by what, and how many repeat a question."""

    new: list[dict[str, Any]] = field(default_factory=list)
    by: Counter[str] = field(default_factory=Counter)
    reordered: int = 0
    repeats: int = 0


def match(path: Path, items: Iterable[Question], samples: Sequence[Sample], trust: Sequence[str]) -> Matched:
    """Find the item of every sample; one that is about none gets a reason in ``why``.

    Raises ``StudyError`` where the log's key is not that of the item, unless ``key`` is trusted.
    """
    known = _Items(items)
    found, differ = Matched(), dict[str, str]()
    for each in samples:
        if each.why is not None:
            continue
        if each.question is None:
            there = known.named(each) or (known.asked(each.asked) if each.asked else None)
            if there is None:
                each.why = _unknown(each)
            else:
                each.item = there.item_id
                found.by["what was asked" if each.asked else "id"] += 1
            continue
        try:
            fields = known.fields(each)
        except ValueError as error:
            each.why = f"its question cannot be used: {one_line(str(error), 80)}"
            continue
        there, by = known.find(each, fields)
        if there is None:
            there = known.add(each, fields, found.new)
        elif not _same_key(there, fields):
            differ.setdefault(
                there.item_id, f"{there.item_id} has {_key(fields)}, the study {_key(there.model_dump())}"
            )
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
    """Items of the study and of the log, by id and by what they ask."""

    def __init__(self, items: Iterable[Question]) -> None:
        self._by_id = {item.item_id: item for item in items}
        self._by_content: dict[str, list[Question]] = {}
        for item in self._by_id.values():
            self._by_content.setdefault(identity(item.question, item.options), []).append(item)
        self._new = set[str]()
        self._texts: dict[str, Question | None] = {}
        self._fields: dict[str, dict[str, Any]] = {}

    def named(self, each: Sample) -> Question | None:
        return self._by_id.get(f"{each.task}/{each.name}") or self._by_id.get(each.name)

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

    def add(self, each: Sample, fields: dict[str, Any], rows: list[dict[str, Any]]) -> Question:
        """Return a new item, under the log's name for it where that is free."""
        assert each.question is not None
        name = f"{each.task}/{each.name}"
        if name in self._by_id:
            name += f"~{sha256_hex(identity(fields['question'], fields['options']) + _key(fields))[:8]}"
        rows.append({**each.question, "id": name, "dataset": each.task})
        item = Question(**{**fields, "item_id": name})
        self._by_id[name] = item
        self._new.add(name)
        self._by_content.setdefault(identity(item.question, item.options), []).append(item)
        return item

    def asked(self, prompt: str) -> Question | None:
        """Return the item a message asks: all of it, or without paragraphs before or behind, as instructions are."""
        for own in self._by_id.values() if not self._texts else ():
            for text in {flat(own.question), flat(own.stem)}:
                self._texts[text] = None if text in self._texts else own  # two items may ask the same
        parts = re.split(r"\n[ \t]*\n", prompt)
        cuts = [parts[n:] for n in range(1, min(len(parts), _MOST_CUT))]
        cuts += [parts[:-n] for n in range(1, min(len(parts), _MOST_CUT))]
        cuts += [[each] for each in parts[1:-1][:_MOST_CUT]]
        for tried in ([parts], cuts):
            texts = (flat(_LABEL.sub("", "\n\n".join(part), count=1)) for part in tried)
            there = {item.item_id: item for text in texts if (item := self._texts.get(text)) is not None}
            if there:
                return next(iter(there.values())) if len(there) == 1 else None
        return None


def _unknown(each: Sample) -> str:
    if each.asked:
        return "asks no question of the study, or several, as it is written there"
    return f"no item is called {one_line(each.name, 60)!r}, and the file does not hold its question"


def _runs(samples: Sequence[Sample]) -> int:
    """Number the answers of a model to one item that the log has under several ids; return how many are moved."""
    names: dict[tuple[str, str, int], str] = {}
    last: Counter[tuple[str, str]] = Counter()
    moved = 0
    for each in samples:
        if each.why is None:
            last[each.model, each.item] = max(last[each.model, each.item], each.run)
    for each in samples:
        if each.why is not None:
            continue
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
    """Write the new questions of a log as a file of their own, behind those of earlier logs."""
    text = "".join(json.dumps(row) + "\n" for row in found.new)
    number = len(list(folder.glob("*.jsonl"))) + 1
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / f"{number:04d}-{sha256_hex(text)[:12]}.jsonl", text)


# --- keys -------------------------------------------------------------------------------------------------------------
def _same_key(item: Question, fields: Mapping[str, Any]) -> bool:
    if item.kind == "graded" or fields["kind"] == "graded":
        return True
    if item.kind == "choice" or fields["kind"] == "choice":
        both = [_chosen(item.options, item.answer), _chosen(fields["options"], fields["answer"])]
        return item.kind == fields["kind"] and both[0] == both[1]
    ours, theirs = (
        [_bare(each) for each in forms] for forms in ([item.answer, *item.accept], _forms(fields))
    )
    return any(same(mine, other) for mine in ours for other in theirs)


def _chosen(options: Sequence[str], letter: str) -> str:
    """Return the text of the right option: its letter depends on the order."""
    return flat(options[LETTERS.index(letter)])


def _bare(form: str) -> str:
    """Return a right answer as it is compared: of a number with its unit the number, as logs before had both as text."""
    found = quantity(form)
    return unboxed(plain(form)) if found is None else found[0]


def _forms(fields: Mapping[str, Any]) -> list[str]:
    return [fields["answer"], *fields["accept"]]


def _key(fields: Mapping[str, Any]) -> str:
    return one_line(" or ".join(map(str, _forms(fields))), 40)
