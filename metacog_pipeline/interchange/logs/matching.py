"""Which items the samples of a log are about: found by id, then by what is asked; new questions become items."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.files import sha256_hex, write_text
from metacog_pipeline.interchange.logs.sample import Sample
from metacog_pipeline.interchange.question import Question
from metacog_pipeline.interchange.question_rows import content_digest, flat, quantity, question_of
from metacog_pipeline.reading.envelope import plain, unboxed
from metacog_pipeline.reading.names import same

_NAMED = 3
_MOST_CUT = 9
_LABEL = re.compile(r"^\s*(?:question|q)\s{0,3}[:.]\s", re.IGNORECASE)


@dataclass(slots=True)
class Matched:
    """Items by (task, name in the log); rows of the file of new ones; how many were found by what."""

    items: dict[tuple[str, str], str] = field(default_factory=dict)
    new: list[dict[str, Any]] = field(default_factory=list)
    by: dict[str, int] = field(default_factory=dict)


def match(path: Path, items: Iterable[Question], samples: Sequence[Sample], trust: Sequence[str]) -> Matched:
    """Return the item of every sample; one that is about none gets a reason in ``why``.

    Raises ``StudyError`` where an id names another question here, or the log's key is not that of the item, unless
    ``key`` is trusted.
    """
    by_id = {item.item_id: item for item in items}
    by_content = {content_digest(item.question, item.options): item for item in by_id.values()}
    by_text = _texts(by_id.values()) if any(each.asked for each in samples) else {}
    found, other, differ, new = Matched(), [], [], set[str]()
    for each in samples:
        place = each.task, each.name
        if each.why is not None or place in found.items:
            continue
        own = f"{each.task}/{each.name}"
        there, by = next(
            ((by_id[name], "id") for name in (own, each.name) if name in by_id), (None, "question")
        )
        if each.question is None:
            if there is None and each.asked:
                there, by = _asked_for(by_text, each.asked), "what was asked"
            if there is None:
                each.why = (
                    "asks no question of the study, or several, as it is written there"
                    if each.asked
                    else f"no item is called {one_line(each.name, 60)!r}, and the file does not hold its question"
                )
            else:
                found.items[place] = there.item_id
                found.by[by] = found.by.get(by, 0) + 1
            continue
        row = {**each.question, "id": own, "dataset": each.task}
        try:
            fields = question_of(row, each.task)
        except ValueError as error:
            each.why = f"its question cannot be used: {one_line(str(error), 80)}"
            continue
        digest = content_digest(fields["question"], fields["options"])
        if there is not None and content_digest(there.question, there.options) != digest:
            other.append((own, each.version))
            continue
        there = there or by_content.get(digest)
        if there is not None and by == "question" and there.item_id in new and not _same_key(there, fields):
            there = None  # two questions of this log that differ in their key alone
        if there is None:
            new.add(own)
            found.new.append(row)
            by_id[own] = there = Question(**fields)
            by_content.setdefault(digest, there)
            by = "new"
        elif not _same_key(there, fields):
            differ.append(f"{own} has {_key(fields)}, the study {_key(there.model_dump())}")
        found.items[place] = there.item_id
        found.by[by] = found.by.get(by, 0) + 1
    _refuse(path, other, differ, trust)
    return found


def _texts(items: Iterable[Question]) -> dict[str, Question | None]:
    """Return items by their question, and by question and options; None where two have the same."""
    found: dict[str, Question | None] = {}
    for item in items:
        for text in {flat(item.question), flat(item.stem)}:
            found[text] = None if text in found else item
    return found


def _asked_for(by_text: Mapping[str, Question | None], asked: str) -> Question | None:
    """Return the item a message asks: all of it, or without paragraphs before or behind, as instructions are."""
    parts = re.split(r"\n[ \t]*\n", asked)
    cuts = [parts[n:] for n in range(1, min(len(parts), _MOST_CUT))]
    cuts += [parts[:-n] for n in range(1, min(len(parts), _MOST_CUT))]
    cuts += [[each] for each in parts[1:-1][:_MOST_CUT]]
    for each in ([parts], cuts):
        tried = (_LABEL.sub("", "\n\n".join(part), count=1) for part in each)
        there = {item.item_id: item for text in tried if (item := by_text.get(flat(text))) is not None}
        if there:
            return next(iter(there.values())) if len(there) == 1 else None
    return None


def keep_new(folder: Path, found: Matched) -> None:
    """Write the new questions of a log as a file of their own, behind those of earlier logs."""
    text = "".join(json.dumps(row) + "\n" for row in found.new)
    number = len(list(folder.glob("*.jsonl"))) + 1
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / f"{number:04d}-{sha256_hex(text)[:12]}.jsonl", text)


def _same_key(item: Question, fields: Mapping[str, Any]) -> bool:
    if item.kind == "graded" or fields["kind"] == "graded":
        return True
    if item.kind == "choice" or fields["kind"] == "choice":
        return (item.kind, item.answer) == (fields["kind"], fields["answer"])
    ours, theirs = (
        [_bare(each) for each in forms] for forms in ([item.answer, *item.accept], _forms(fields))
    )
    return any(same(mine, other) for mine in ours for other in theirs)


def _bare(form: str) -> str:
    """Return a right answer as it is compared: of a number with its unit the number, as logs before had both as text."""
    found = quantity(form)
    return unboxed(plain(form)) if found is None else found[0]


def _forms(fields: Mapping[str, Any]) -> list[str]:
    return [fields["answer"], *fields["accept"]]


def _key(fields: Mapping[str, Any]) -> str:
    return one_line(" or ".join(map(str, _forms(fields))), 40)


def _refuse(
    path: Path, other: Sequence[tuple[str, str]], differ: Sequence[str], trust: Sequence[str]
) -> None:
    if other:
        names = ", ".join(name for name, _ in other[:_NAMED])
        version = f" (version {other[0][1]} of the task)" if other[0][1] not in ("", "0") else ""
        raise StudyError(
            f"{path}: {len(other)} samples{version} name items whose question is another one in the study: {names}; "
            "nothing was kept; import it into a study of its own"
        )
    if differ and "key" not in trust:
        raise StudyError(
            f"{path}: the answer key disagrees with the study in {len(differ)} questions: {'; '.join(differ[:_NAMED])}; "
            "nothing was kept; correct one of them, or score by the study's with --trust key"
        )
