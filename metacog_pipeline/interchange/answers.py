"""Rows of a table about items of a benchmark, read: which item, which replies, and what proves or contradicts them.

A key, a correctness, or the text of the question in a row that names its item by id is a checksum: one disagreement refuses
the file before anything is kept, unless it is trusted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange import columns as named
from metacog_pipeline.interchange.answer_files import AnswerFile, FileRow, Table
from metacog_pipeline.interchange.columns import absent
from metacog_pipeline.interchange.confidence import Confidence
from metacog_pipeline.interchange.import_cells import RowError, correctness, only, reply_text, shown, whole
from metacog_pipeline.interchange.import_columns import used_columns
from metacog_pipeline.interchange.import_rules import CHECKS, ITEM_FIELDS, RESPONSE, STEP, RowRules, Seen
from metacog_pipeline.interchange.imported import NOT_KEPT, Imported, ImportOptions, Rejected, imported_record
from metacog_pipeline.transcripts.schema import Record

Who = tuple[str, int]  # a model and a run
_SHOWN = 3


class Items:
    """Finds the item that a row names: by id, or by the text of its question."""

    def __init__(self, rules: RowRules, columns: Mapping[str, str]) -> None:
        self._rules = rules
        self._by_id = {item.item_id: item for item in rules.items}
        self._folded = {item_id.casefold(): item for item_id, item in self._by_id.items()}
        self._by_question: dict[str, list[Any]] = {}
        for item in rules.items if "question" in columns else ():
            for text in {rules.fold(each) for each in rules.questions(item)}:
                self._by_question.setdefault(text, []).append(item)

    def find(self, given: Mapping[str, Any]) -> tuple[Any, bool | None]:
        """Return the item, and whether a question next to an id is that of the item."""
        rules, name, question = self._rules, given.get("item_id"), given.get("question")
        asking = [] if absent(question) else self._by_question.get(rules.fold(str(question)), [])
        if not absent(name):
            text = str(name).strip()
            found = self._by_id.get(text) or self._folded.get(text.casefold())
            found = found or self._by_id.get(str(whole(name)))  # 12.0 where a data frame had gaps
            if found is not None:
                return found, None if absent(question) else found in asking
        if len(asking) > 1 and not rules.options and not absent(key := given.get("key")):
            asking = [each for each in asking if rules.agrees(each, str(key).strip())] or asking
        if len(asking) == 1:
            return asking[0], None
        word, total = rules.item_word, len(self._by_id)
        if asking:
            raise RowError(f"question {shown(question)} belongs to {len(asking)} items; give item_id")
        if absent(name) and absent(question):
            raise RowError(f"the row names no {word}")
        what = shown(question) if absent(name) else f"{'item_id ' if word == 'item' else ''}{shown(name)}"
        raise RowError(f"unknown {word}: {what} is none of the {total} {word}s of this study")


@dataclass(slots=True)
class Answered:
    """The replies of a model and run to one item under one condition, by step; their rows, the first one for all."""

    who: Who
    item: Any
    condition: str
    row: int
    texts: dict[str, str]
    seen: Seen | None
    rows: dict[str, int] = field(default_factory=dict)


class Reader:
    """Reads the rows of a table, then says how they were understood."""

    def __init__(
        self, rows: AnswerFile | Table, rules: RowRules, columns: dict[str, str], options: ImportOptions, usual: str
    ) -> None:  # fmt: skip
        self._rows, self._rules, self._columns, self._options = rows, rules, columns, options
        self._usual, self._items, self._path = usual, Items(rules, columns), rows.path
        twofold = ("key",) if "question" in columns and not rules.options else ()
        self._naming = {f: columns[f] for f in (*ITEM_FIELDS, "condition", *twofold) if f in columns}
        self._said = {f: c for f, c in columns.items() if f not in self._naming or f in twofold}
        self._single = len(rules.all_steps) == 1
        self._plain: dict[tuple[Any, ...], tuple[dict[str, str], int] | None] = {}
        self._answered: dict[tuple[Who, str, str], Answered] = {}
        self._rejected: list[Rejected] = []
        self._confidence = Confidence(rows.path, rules, options.scale)
        self._claims: list[tuple[int, Answered, dict[str, Any]]] = []  # row, its answer, checking cells
        self._taken = 0
        rules.given = frozenset(columns)

    def read(self, group: Callable[[Mapping[str, Any]], Who | str], mapped: frozenset[str]) -> Imported:
        """Return what was read; ``group`` returns model and run of a row's cells, or why it has none."""
        for row in self._rows:
            try:
                reason = row.broken or self._take(row, group(row.cells))
            except RowError as error:
                reason = one_line(str(error))
            if reason is not None:
                self._rejected.append(Rejected(row.number, NOT_KEPT, reason))
        return self._finish(mapped)

    # --- rows ---------------------------------------------------------------------------------------------------------
    def _take(self, row: FileRow, who: Who | str) -> str | None:
        """Add what a row says; return why it is not kept."""
        if isinstance(who, str):
            return who
        item, condition, asks = self._placed(row.cells)
        key = who, item.item_id, condition
        there = self._answered.get(key)
        if there is not None and self._single:  # before anything of a long table's row is read
            return self._second(there, "")
        said = {name: named.cell(row.cells, column) for name, column in self._said.items()}
        texts, seen = self._replies(item, condition, said, row.number)
        if there is None:
            there = self._answered[key] = Answered(who, item, condition, row.number, texts, seen)
        elif twice := next((step for step in texts if step in there.texts), ""):
            return self._second(there, twice)
        else:
            there.rows.update(dict.fromkeys(texts, row.number))
            there.texts = {**there.texts, **texts}
        self._taken += 1
        stated = {name: only(self._options.shape.word(said[name])) for name in CHECKS if name in said}
        proofs = {name: value for name, value in stated.items() if not named.missing(value)}
        if asks is not None:
            proofs["question"] = asks
        if proofs:
            self._claims.append((row.number, there, proofs))
        return None

    def _second(self, there: Answered, step: str) -> str:
        under = f" under {there.condition}" if there.condition != self._usual else ""
        of, first = f"{step} of " if step else "", there.rows.get(step, there.row)
        what = f"{of}{self._rules.item_word} {there.item.item_id}{under}"
        return f"{what} is given twice, first in row {first}; the first one counts"

    def _placed(self, cells: Mapping[str, Any]) -> tuple[Any, str, bool | None]:
        """Return item, condition, and whether a question next to an id is that of the item."""
        given = {name: named.cell(cells, column) for name, column in self._naming.items()}
        item, asks = self._items.find(given)
        stated = given.get("condition")
        condition = self._usual if absent(stated) else self._rules.condition_named(str(stated))
        self._rules.check_asked(item, condition)
        return item, condition, asks

    def _replies(
        self, item: Any, condition: str, said: Mapping[str, Any], number: int
    ) -> tuple[dict[str, str], Seen | None]:
        """Return the replies of a row by step, raw ones, else those put together from its fields; and what they say,
        where that is known at once."""
        rules, steps = self._rules, self._rules.steps(item, condition)
        raw_steps = (step for step in steps if step not in rules.own and not absent(said.get(step)))
        found = {step: reply_text(said[step], step) for step in raw_steps}
        raw, own, unreadable = said.get(RESPONSE), None, None
        if raw is not None and raw == raw:  # an empty text is a reply, NaN is none
            if (bare := rules.bare(raw)) is not None:
                said = {**said, bare: raw}
            else:
                try:
                    text = reply_text(raw, RESPONSE)
                    if text.strip() or not (own := self._own(said, number)):
                        found[self._step(said, steps, item, found)] = text
                except RowError as error:
                    unreadable = error
        if len(found) == len(steps):
            return found, None
        own = self._own(said, number) if own is None else own
        if not found and own and (plain := self._as_plain(own)) is not None:
            texts, option = plain
            return texts, Seen(int(option == rules.target(item)), option)
        if own:
            return {**rules.replies(item, condition, own), **found}, None
        if found:
            return found, None
        if unreadable is None and any(name in said for name in rules.own):
            return rules.replies(item, condition, own), None  # says what is missing
        raise unreadable or RowError(f"there is no reply to {rules.item_word} {item.item_id}")

    def _as_plain(self, own: Mapping[str, Any]) -> tuple[dict[str, str], int] | None:
        """Return replies that are the same for any item, and the option they choose: a long table has few of them."""
        try:
            if (key := tuple(own.items())) not in self._plain:
                made = self._rules.plain(own)
                self._plain[key] = None if made is None else ({self._rules.all_steps[0]: made[0]}, made[1])
            return self._plain[key]
        except (TypeError, RowError):  # a list or an object; what is no answer is reported with its item
            return None

    def _own(self, said: Mapping[str, Any], number: int) -> dict[str, Any]:
        """Return the fields of an answer that say something, words replaced and confidence on the scale asked for."""
        found: dict[str, Any] = {}
        for name in self._rules.own:
            value, rated = said.get(name), name in self._rules.rated
            if not rated or named.number(value) is None:
                value = self._options.shape.word(value)
            if rated and self._confidence.none_stated(value):
                self._confidence.missing += name in said
            elif rated:
                found[name] = self._confidence.take(value, number)
            elif not named.missing(value):
                found[name] = value
        return found

    def _step(
        self, said: Mapping[str, Any], steps: Sequence[str], item: Any, found: Mapping[str, str]
    ) -> str:
        """Return the step a raw reply is to: the one named, or the only one that has no column of its own."""
        word = "" if absent(said.get(STEP)) else str(said[STEP]).strip()
        if not word:
            made = {self._rules.made_by.get(name) for name in said}
            free = [step for step in steps if step not in found and step not in said and step not in made]
            if len(free) == 1:
                return free[0]
        plain = {step.casefold(): step for step in steps}
        step = plain.get(word.casefold()) or self._rules.step_words.get(word.casefold(), "")
        if step not in steps:
            why = f"step {shown(word)} is none of" if word else "the row names no step; there are"
            raise RowError(f"{why} {', '.join(steps)} of {self._rules.item_word} {item.item_id}")
        return step

    # --- all rows -----------------------------------------------------------------------------------------------------
    def _finish(self, mapped: frozenset[str]) -> Imported:
        """Read the replies and hold the checking columns to the items."""
        warnings = []
        for one in self._answered.values():
            if one.seen is None:
                one.seen = self._rules.seen(one.item, one.condition, one.texts)
            for problem in one.seen.problems:
                warnings.append(one_line(f"{problem} (run {one.who[1]}): recorded as unparsable"))
        self._rules.check_choices(self._path)
        proofs = self._checked(mapped)
        self._confidence.check()
        total, summary = self._taken + len(self._rejected), tuple(self._summary(proofs))
        return Imported(list(self._records()), tuple(self._rejected), tuple(warnings), summary, rows=total)

    def _records(self) -> Iterator[Record]:
        rules, scale = self._rules, self._options.scale
        known = {} if scale in (None, rules.scale) else {"confidence_scale": str(scale)}
        now, also = datetime.now(UTC), self._options.also or (lambda row: {})
        for one in self._answered.values():
            (model, run), item = one.who, (one.item.item_id, one.item.item_hash)
            for step, text in one.texts.items():
                own = [] if self._single else [step]
                yield imported_record(
                    rules.name, item, model=model, run=run, condition=one.condition, step=step, text=text, at=now,
                    identity=[rules.name, model, run, item[0], one.condition, *own, text, "import"],
                    also={"request_json": json.dumps(known), **also(one.rows.get(step, one.row))},
                )  # fmt: skip

    def _checked(self, mapped: frozenset[str]) -> list[str]:
        """Hold the checking columns to the items; return a line about each.

        A column found by its name alone must be what it is called: else it is taken out of the columns and proves nothing.
        Raises ``StudyError`` for a disagreement that is not trusted.
        """
        if unknown := [each for each in self._options.trust if each not in {"run", *self._columns}]:
            raise StudyError(
                f"--trust {unknown[0]}: the file has no such field; it has {', '.join(self._columns)}"
            )
        lines = []
        for name in [each for each in (*CHECKS, "question") if each in self._columns]:
            said = [
                (row, one, *self._compared(name, one, values[name]))
                for row, one, values in self._claims
                if name in values
            ]
            unread = sum(agrees is None for _, _, agrees, _ in said)
            if not said or (name not in mapped and 2 * unread > len(said)):
                if name in CHECKS and name not in mapped:
                    del self._columns[name]
                continue
            if name == "correct":  # of what is neither right nor wrong here nothing is said
                said = [each for each in said if each[1].seen is not None and each[1].seen.right is not None]
            wrong = [(row, one, why) for row, one, agrees, why in said if not agrees]
            column, n = self._columns[name], len(said)
            if wrong and name not in self._options.trust:
                where = ", ".join(f"row {row} ({one.item.item_id}) {why}" for row, one, why in wrong[:_SHOWN])
                raise StudyError(
                    f"{self._path}: {name} (column {column!r}) disagrees with the study in {len(wrong)} of {n} rows: "
                    f"{where}{', …' if len(wrong) > _SHOWN else ''}; nothing was kept; correct the file, or take it as it "
                    f"is with --trust {name}"
                )
            outcome = f"{len(wrong)} of {n} disagree, trusted" if wrong else f"all {n} rows agree"
            lines.append(f"{name} (column {column!r}): {outcome}")
        return lines

    def _compared(self, name: str, one: Answered, value: Any) -> tuple[bool | None, str]:
        """Return whether a checking cell agrees with its item, None where it cannot be read; and what differs."""
        rules = self._rules
        if name == "question":
            return bool(value), "has another question"
        ours, agrees = str(one.seen and one.seen.right) if name == "correct" else rules.keyed(one.item), None
        try:
            if name == "correct":
                stated = correctness(value)
                agrees = None if stated is None else one.seen is not None and stated == one.seen.right
            elif rules.options:
                option = rules.option(one.item, value)
                value, agrees = rules.options[option], option == rules.target(one.item)
            else:
                agrees = rules.agrees(one.item, str(value).strip())
        except RowError:
            pass
        told = f"says {one_line(str(value), 60)}, the study {one_line(ours, 60)}"
        return agrees, "cannot be read" if agrees is None else told

    def _summary(self, proofs: Sequence[str]) -> Iterator[str]:
        proof = "; ".join(proofs) or "nothing in it proves the match (map key, correct or question)"
        yield f"{self._taken + len(self._rejected)} rows, {self._taken} taken; {proof}"
        seen = (each.seen for each in self._answered.values())
        right = [each.right for each in seen if each is not None and each.right is not None]
        accuracy = f"{sum(right) / len(right):.3f} of {len(right)} answers" if right else ""
        stated = [name for name in self._rules.rated if name in self._columns]
        raw = {RESPONSE, *self._rules.all_steps} - set(self._rules.own)
        confidence = "confidence is in the replies"
        if stated or (self._rules.rated and not raw & set(self._columns)):
            confidence = "no confidence: what rests on it is not scored"
        if stated and self._confidence:
            confidence = str(self._confidence)
        yield f"accuracy {accuracy or 'no answer is right or wrong'}; {confidence}"
        if missing := "; ".join(self._missing()):
            where = f"where the study has allow_incomplete = true in [benchmarks.{self._rules.name}]"
            yield f"{missing}; what is missing is left out, the rest is scored with its coverage, {where}"
        yield used_columns(self._columns, self._rows.columns)

    def _missing(self) -> Iterator[str]:
        """Say of each condition how many of its items have no answer, and how many answers lack a step."""
        word, expected = self._rules.item_word, self._rules.expected()
        answered = Counter(
            condition
            for item_id, condition in {key[1:] for key in self._answered}
            if item_id in expected.get(condition, ())
        )
        for condition, items in expected.items():
            if 0 < answered[condition] < len(items):
                yield f"{answered[condition]} of {len(items)} {word}s have an answer under {condition}"
        if nothing := [name for name in expected if not answered[name]]:
            yield f"no {word} has one under {', '.join(nothing)}"
        lacks = [
            (one.item.item_id, step)
            for one in self._answered.values()
            for step in (() if self._single else self._rules.needed(one.item, one.condition))
            if step not in one.texts
        ]
        if lacks:
            yield f"{len({item_id for item_id, _ in lacks})} lack a step, as {lacks[0][0]} lacks {lacks[0][1]}"
