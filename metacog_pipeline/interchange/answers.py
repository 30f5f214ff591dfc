"""Rows about items of a benchmark, read: which item, which replies, and what proves or contradicts them.

A key, a correctness, or the text of the question in a row that names its item by id is a checksum: the first disagreement
refuses the file before anything is kept, unless it is trusted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.columns import absent
from metacog_pipeline.interchange.confidence import Confidence
from metacog_pipeline.interchange.import_cells import (
    RowError,
    correctness,
    folded,
    only,
    reply_text,
    shown,
    whole,
)
from metacog_pipeline.interchange.import_rules import CHECKS, RESPONSE, RowRules
from metacog_pipeline.interchange.imported import NOT_KEPT, Imported, ImportOptions, Rejected, imported_record
from metacog_pipeline.transcripts.schema import Record

Who = tuple[str, int]  # a model and a run
_READ = 200  # answers that are read to say how good they are


@dataclass(slots=True)
class Answered:
    """The replies of a model and run to one item under one condition, by step, and what else is known of them."""

    who: Who
    item: Any
    condition: str
    row: int | str
    texts: dict[str, str]
    also: Mapping[str, Any]


class Answers:
    """Takes rows one by one, then says how they were understood."""

    def __init__(
        self, path: Path, rules: RowRules, fields: Mapping[str, str], mapped: Sequence[str], options: ImportOptions,
        condition: str,
    ) -> None:  # fmt: skip
        """``fields`` are the columns of the fields of a row, ``mapped`` those that the command line names."""
        self._path, self._rules, self._fields, self._mapped = path, rules, fields, mapped
        self._options = options
        try:
            self._usual = condition if condition == rules.condition else rules.condition_named(condition)
        except RowError as error:
            raise StudyError(f"--condition {condition}: {error}") from None
        if unknown := [each for each in options.trust if each not in {"run", *fields}]:
            raise StudyError(f"--trust {unknown[0]}: the file has no such field; it has {', '.join(fields)}")
        self._by_id = {item.item_id: item for item in rules.items}
        self._folded = {item_id.casefold(): item for item_id, item in self._by_id.items()}
        self._by_question: dict[str, list[Any]] = {}
        for item in rules.items if "question" in fields else ():
            for text in {folded(each) for each in rules.questions(item)}:
                self._by_question.setdefault(text, []).append(item)
        self._single = len(rules.all_steps) == 1
        self._answered: dict[tuple[Who, str, str], Answered] = {}
        self._rejected: list[Rejected] = []
        self._agree = dict.fromkeys(("question", "key", "correct"), 0)
        self.confidence = Confidence(path, rules, options.scale)
        self._taken = 0
        rules.given = frozenset(fields)

    def take(
        self, row: int | str, who: Who | str, said: Mapping[str, Any], also: Mapping[str, Any] | None = None
    ) -> str | None:
        """Add what a row says; return why it is not kept. ``who`` answered, or why there is no respondent."""
        try:
            if isinstance(who, str):
                raise RowError(who)
            self._take(row, who, said, also or {})
        except RowError as error:
            self._rejected.append(Rejected(row, NOT_KEPT, str(error)))
            return str(error)
        return None

    # --- rows ---------------------------------------------------------------------------------------------------------
    def _take(self, row: int | str, who: Who, said: Mapping[str, Any], also: Mapping[str, Any]) -> None:
        item, asks = self._find(said)
        stated = said.get("condition")
        condition = self._usual if absent(stated) else self._rules.condition_named(str(stated))
        self._rules.check_asked(item, condition)
        key = who, item.item_id, condition
        there = self._answered.get(key)
        if there is not None:  # before anything of a long table's row is read
            under = f" under {condition}" if condition != self._usual else ""
            what = f"{self._rules.item_word} {item.item_id}{under}"
            raise RowError(f"{what} is given twice, first in row {there.row}; the first one counts")
        texts = self._replies(item, condition, said, row)
        there = self._answered[key] = Answered(who, item, condition, row, texts, also)
        self._taken += 1
        if asks is not None:
            self._prove("question", asks, row, item, "has another question")
        for name in CHECKS:
            value = only(self._options.word(said.get(name)))
            if not columns.missing(value):
                self._check(name, value, row, there)

    def _check(self, name: str, value: Any, row: int | str, one: Answered) -> None:
        """Hold a key or a correctness to the item; a cell of a column found by its name alone may be no such thing."""
        try:
            if name == "key":
                ours, agrees = self._rules.keyed(one.item), self._rules.agrees(one.item, value)
            elif (right := correctness(value)) is None:
                raise RowError("is neither right nor wrong")
            elif not self._single or (mine := self._rules.right(self._parsed(one))) is None:
                return  # nothing is right or wrong here, or not yet
            else:
                ours, agrees = str(mine), mine == right
        except RowError:
            if name not in self._mapped:
                return
            ours, agrees = "cannot read it", False
        self._prove(name, agrees, row, one.item, f"says {shown(value)}, the study {ours}")

    def _prove(self, name: str, agrees: bool, row: int | str, item: Any, told: str) -> None:
        self._agree[name] += agrees
        if not agrees and name not in self._options.trust:
            raise StudyError(
                f"{self._path}: {name} (column {self._fields.get(name, name)!r}) disagrees with the study: row {row} "
                f"({item.item_id}) {told}; nothing was kept; correct the file, or take it as it is with --trust {name}"
            )

    def _find(self, said: Mapping[str, Any]) -> tuple[Any, bool | None]:
        """Return the item, and whether a question next to an id is that of the item."""
        rules, name, question = self._rules, said.get("item_id"), said.get("question")
        asking = [] if absent(question) else self._by_question.get(folded(str(question)), [])
        if not absent(name):
            text = str(name).strip()
            found = self._by_id.get(text) or self._folded.get(text.casefold())
            found = found or self._by_id.get(str(whole(name)))  # 12.0 where a data frame had gaps
            if found is not None:
                return found, None if absent(question) or not self._by_question else found in asking
        if len(asking) > 1 and not absent(key := said.get("key")):
            asking = [each for each in asking if rules.agrees(each, key)] or asking
        if len(asking) == 1:
            return asking[0], None
        word, total = rules.item_word, len(self._by_id)
        if asking:
            raise RowError(f"question {shown(question)} belongs to {len(asking)} items; give item_id")
        if absent(name) and absent(question):
            raise RowError(f"the row names no {word}")
        what = shown(question) if absent(name) else f"{'item_id ' if word == 'item' else ''}{shown(name)}"
        raise RowError(f"unknown {word}: {what} is none of the {total} {word}s of this study")

    def _replies(self, item: Any, condition: str, said: Mapping[str, Any], row: int | str) -> dict[str, str]:
        """Return the replies of a row by step: raw ones, else those put together from its fields."""
        rules, steps, raw = self._rules, self._rules.steps(item, condition), said.get(RESPONSE)
        found = {step: said[step] for step in steps if step not in rules.own and not absent(said.get(step))}
        found = {step: reply_text(value, step) for step, value in found.items()}
        there = raw is not None and raw == raw  # an empty text is a reply, NaN is none
        bare = rules.bare(raw) if there else None
        if there and bare is None and not absent(raw):
            found[self._step(said, steps, item)] = reply_text(raw, RESPONSE)
        if len(found) == len(steps):
            return found
        own = self._own(said if bare is None else {**said, bare: raw}, row)
        if own or (not found and not there and any(name in said for name in rules.own)):
            return {**rules.replies(item, condition, own), **found}  # without any it says what is missing
        if there and not found and isinstance(raw, str):
            found[self._step(said, steps, item)] = raw
        if not found:
            raise RowError(f"there is no reply to {rules.item_word} {item.item_id}")
        return found

    def _own(self, said: Mapping[str, Any], row: int | str) -> dict[str, Any]:
        """Return the fields of an answer that say something, words replaced and confidence on the scale asked for."""
        found: dict[str, Any] = {}
        for name in self._rules.own:
            value, rated = said.get(name), name in self._rules.rated
            if not rated or columns.number(value) is None:
                value = self._options.word(value)
            if rated and self.confidence.none_stated(value):
                self.confidence.missing += name in said
            elif rated:
                found[name] = self.confidence.take(value, row)
            elif not columns.missing(value):
                found[name] = value
        return found

    def _step(self, said: Mapping[str, Any], steps: Sequence[str], item: Any) -> str:
        """Return the step a raw reply is to: the only one that has no column of its own."""
        made = {self._rules.made_by.get(name) for name in said}
        free = [step for step in steps if step not in said and step not in made]
        if len(free) != 1:
            raise RowError(
                f"{self._rules.item_word} {item.item_id} takes {', '.join(steps)}: give a column for each"
            )
        return free[0]

    # --- all rows -----------------------------------------------------------------------------------------------------
    def done(self, named: Callable[[Iterable[str]], Mapping[str, str]] | None = None) -> Imported:
        """Return what was read, under the names that models have in the study; `StudyError` where it is refused."""
        self._rules.check_choices(self._path)
        self.confidence.check()
        models = dict.fromkeys(each.who[0] for each in self._answered.values())
        names = {each: each for each in models} if named is None else named(models)
        proofs = [f"{name} of {n} agrees" for name, n in self._agree.items() if n]
        rows, proof = self._taken + len(self._rejected), "; ".join(proofs) or "nothing proves the match"
        stated = [str(self.confidence)] if {*self._rules.rated} & {*self._fields} else []
        summary = (f"{rows} rows, {self._taken} taken; {proof}", self._quality(), *stated)
        return Imported(list(self._records(names)), tuple(self._rejected), summary, names, rows=rows)

    def _parsed(self, one: Answered) -> Any:
        calls = {step: Call("ok", text) for step, text in one.texts.items()}
        return self._rules.benchmark.parse(one.item, one.condition, calls)

    def _quality(self) -> str:
        """Return accuracy and readability of some answers: the boards have those of all."""
        every = list(self._answered.values())
        some = every[:: -(-len(every) // _READ) or 1]
        read = [self._parsed(each) for each in some]
        right = [value for value in map(self._rules.right, read) if value is not None]
        odd = sum(each.status in self._rules.benchmark.unreadable for each in read)
        accuracy = (
            f"accuracy {sum(right) / len(right):.3f} of {len(right)}" if right else "none is right or wrong"
        )
        return f"of {len(some)} answers that were read {odd} cannot be read; {accuracy}"

    def _records(self, names: Mapping[str, str]) -> Iterator[Record]:
        from_zero = any(each.who[1] == 0 for each in self._answered.values())
        rules, scale, now = self._rules, self._options.scale, datetime.now(UTC)
        known = json.dumps({} if scale in (None, rules.scale) else {"confidence_scale": str(scale)})
        name = str(rules.benchmark.name)
        for one in self._answered.values():
            who = names[one.who[0]], one.who[1] + from_zero
            for step, text in one.texts.items():
                own = [] if self._single else [step]
                yield imported_record(
                    name, one.item, who, one.condition, step, text, at=now,
                    identity=[name, *who, one.item.item_id, one.condition, *own, text, "import"],
                    **{"request_json": known, **one.also},
                )  # fmt: skip
