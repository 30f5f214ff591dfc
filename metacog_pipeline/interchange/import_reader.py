"""Turns the rows of a table into replies, and gathers what proves or contradicts them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange import columns as named
from metacog_pipeline.interchange.answer_files import FileRow
from metacog_pipeline.interchange.cells import absent
from metacog_pipeline.interchange.import_cells import RowError, none_stated, reply_text, shown, whole
from metacog_pipeline.interchange.import_checks import Answered, Checked, Checks, Claim
from metacog_pipeline.interchange.import_columns import used_columns
from metacog_pipeline.interchange.import_names import ItemNames
from metacog_pipeline.interchange.import_plain import Plain
from metacog_pipeline.interchange.import_rules import CHECKS, ITEM_FIELDS, RESPONSE, STEP, RowRules
from metacog_pipeline.interchange.import_scale import Confidence
from metacog_pipeline.interchange.imported import Imported, ImportOptions, Rejected, imported_record
from metacog_pipeline.transcripts.schema import Record

Place = tuple[Any, str, str, Mapping[str, Any]]  # item, condition, the field that names it, what others name
_FROM_ONE = 2  # positions, one after another, from which it shows that none is 0
_CACHED = 100_000  # names of items remembered, so that a long table is not looked up row by row


class Reader:
    """Reads row after row, then says how the file was understood."""

    def __init__(
        self,
        path: Path,
        rules: RowRules,
        columns: dict[str, str],
        options: ImportOptions,
        usual: str,
        model: str,
        run: int,
    ) -> None:
        self._path, self._rules, self._columns, self._options = path, rules, columns, options
        self._usual, self._model, self._run = usual, model, run
        self._plain: Plain | None = None
        twofold = ("key",) if "question" in columns and not rules.options else ()
        self._naming = [f for f in (*ITEM_FIELDS, rules.grouped or "", "condition", *twofold) if f in columns]
        self._placing = [columns[field] for field in self._naming]
        naming = {*self._naming} - {*twofold}
        self._paths = {field: column for field, column in columns.items() if field not in naming}
        self._single = len(rules.all_steps) == 1
        self._known: dict[tuple[Any, ...], Place | str] = {}
        self._answered: dict[tuple[str, str], Answered] = {}
        self._rejected: list[Rejected] = []
        self._repeated: dict[tuple[str, str], str] = {}
        self._matched: Counter[str] = Counter()
        self._confidence = Confidence(path, rules, options.scale)
        self._claims: list[Claim] = []
        self._taken = 0
        self._other = [field for field in ITEM_FIELDS[1:] if field in columns]
        self._proofs = [name for name in CHECKS if name in columns]
        self._positions: set[int] = set()
        rules.given = frozenset(columns)

    @cached_property
    def _names(self) -> ItemNames:
        return ItemNames(self._rules, self._columns, first=int(self._options.from_one))

    def add(self, plain: Plain) -> None:
        """Add the rows that were matched as columns; those left are to be taken. Before any row is."""
        self._plain = plain
        self._rules = self._rules.among(plain.candidates, plain.items)
        self._rules.given = frozenset(self._columns)
        self._matched["item_id"] += plain.rows.height

    def take(self, row: FileRow) -> None:
        """Add what a row says, or the reason it is not taken."""
        reason = self._take(row) if row.broken is None else row.broken
        if reason is not None:
            self._rejected.append(Rejected(row.number, reason))

    def _take(self, row: FileRow) -> str | None:
        """Take a row; return why it is not taken, None where it is."""
        cells = row.cells
        place = self._placed(cells)
        if isinstance(place, str):
            return place
        item, condition, by, other = place
        key = (item.item_id, condition)
        there = self._answered.get(key)
        if there is not None and self._single:
            return self._second(there)
        said = {field: named.cell(cells, column) for field, column in self._paths.items()}
        try:
            texts = self._texts(item, condition, said, row.number)
        except RowError as error:
            return one_line(str(error))
        if there is None:
            there = self._answered[key] = Answered(item, condition, row.number)
        elif twice := next((step for step in texts if step in there.texts), ""):
            return self._second(there, twice)
        there.texts.update(texts)
        there.rows.update(dict.fromkeys(texts, row.number))
        self._matched[by] += 1
        self._taken += 1
        if self._proofs or other:
            stated = {name: self._stated_in(said[name]) for name in self._proofs}
            proofs = {name: value for name, value in stated.items() if not named.missing(value)}
            self._claims.append(Claim(row.number, there, {**proofs, **other}))
        return None

    def _stated_in(self, value: Any) -> Any:
        """Return what a cell of a key or a correctness says: words replaced, the only value of a list."""
        value = self._options.shape.word(value)
        while isinstance(value, list) and len(value) == 1:
            value = value[0]
        return value

    def _second(self, there: Answered, step: str = "") -> str:
        """Say that of two rows about the same the first counts."""
        key = (there.item.item_id, f"{there.condition} {step}")
        if key not in self._repeated:
            under = f" under {there.condition}" if there.condition != self._usual else ""
            of = f"{step} of " if step else ""
            self._repeated[key] = one_line(
                f"{of}{self._rules.item_word} {there.item.item_id}{under} is given twice, first in row "
                f"{there.rows.get(step, there.row)}; the first one counts"
            )
        return self._repeated[key]

    def _placed(self, cells: Mapping[str, Any]) -> Place | str:
        """Return which item and condition a row is about, or why none."""
        key = tuple(named.cell(cells, column) for column in self._placing)
        given = dict(zip(self._naming, key, strict=True))
        try:
            found = self._known.get(key)
        except TypeError:  # a list or an object
            found, key = None, ()
        if found is not None:
            return found
        if (position := whole(given.get("position"))) is not None:
            self._positions.add(position)
        try:
            item, by, other = self._names.find(given)
            told_of = given.get("condition")
            condition = self._usual if absent(told_of) else self._rules.condition_named(str(told_of))
            self._rules.check_asked(item, condition)
            found = (item, condition, by, other)
        except RowError as error:
            found = one_line(str(error))
        if key and len(self._known) < _CACHED:
            self._known[key] = found
        return found

    def _texts(self, item: Any, condition: str, said: Mapping[str, Any], number: int) -> dict[str, str]:
        """Return the replies of a row by step: raw ones, else those put together from its fields."""
        steps = self._rules.steps(item, condition)
        found = {
            step: reply_text(said[step], step)
            for step in steps
            if step in said and step not in self._rules.own and not absent(said[step])
        }
        raw, own, unreadable = said.get(RESPONSE), None, None
        if raw is not None and raw == raw:  # an empty text is a reply, NaN is none
            bare = self._rules.bare(raw)
            if bare is not None:
                said = {**said, bare: raw}
            else:
                try:
                    text = reply_text(raw, RESPONSE)
                    if text.strip() or not (own := self.own(said, number)):
                        found[self._step(said, steps, item, found)] = text
                except RowError as error:
                    unreadable = error
        if len(found) == len(steps):
            return found
        own = self.own(said, number) if own is None else own
        if own:
            return {**self._rules.replies(item, condition, own), **found}
        if found:
            return found
        if unreadable is None and any(field in said for field in self._rules.own):
            return self._rules.replies(item, condition, own)  # says what is missing
        raise unreadable or RowError(f"there is no reply to {self._rules.item_word} {item.item_id}")

    def own(self, said: Mapping[str, Any], number: int, count: int = 1) -> dict[str, Any]:
        """Return the fields of an answer, which ``count`` rows give, that say something, words replaced and confidence on
        the scale asked for."""
        found: dict[str, Any] = {}
        for field in self._rules.own:
            value = said.get(field)
            if field not in self._rules.rated or named.number(value) is None:
                value = self._options.shape.word(value)
            if named.missing(value) or (
                field in self._rules.rated and none_stated(value, self._options.scale or self._rules.scale)
            ):
                self._confidence.missing += count * (field in self._rules.rated and field in said)
            elif field in self._rules.rated:
                found[field] = self._confidence.take(value, number, count)
            else:
                found[field] = value
        return found

    def _step(
        self, said: Mapping[str, Any], steps: Sequence[str], item: Any, found: Mapping[str, str]
    ) -> str:
        """Return the step a raw reply is to: the one named, or the only one that has no column of its own."""
        told = said.get(STEP)
        word = "" if absent(told) else str(told).strip()
        if not word:
            made = {self._rules.made_by.get(field) for field in said}
            free = [step for step in steps if step not in found and step not in said and step not in made]
            if len(free) == 1:
                return free[0]
        plain = {step.casefold(): step for step in steps}
        step = plain.get(word.casefold()) or self._rules.step_words.get(word.casefold(), "")
        if step not in steps:
            why = f"step {shown(word)} is none of" if word else "the row names no step; there are"
            raise RowError(f"{why} {', '.join(steps)} of {self._rules.item_word} {item.item_id}")
        return step

    def misfit(self) -> str | None:
        """Return why the rows read so far are not about the items; None where most of them are.

        A position is one of any benchmark: where nothing else names the items, a key or a correctness must agree.
        """
        if len(self._answered) < max(1, len(self._rejected)) and not self._repeated:
            return self._rejected[0].reason if self._rejected else "no row can be read"
        if set(self._matched) != {"position"}:
            return None
        self._see()
        try:
            checked = self._check(frozenset())
        except StudyError as error:
            return str(error).removeprefix(f"{self._path}: ")
        proven = any(each.compared and not each.differ for each in checked)
        return None if proven else "positions alone do not tell whose items they are"

    def _see(self) -> list[str]:
        """Read the replies to every item; return what cannot be read."""
        problems: list[str] = []
        for one in self._answered.values():
            one.seen = self._rules.seen(one.item, one.condition, one.texts)
            problems += one.seen.problems
        return problems

    def finish(self, mapped: frozenset[str], there: Sequence[str]) -> Imported:
        """Read the replies, hold the checking columns to the items, and return what was taken."""
        told = f"(run {self._run}): recorded as unparsable"
        warnings = [one_line(f"{problem} {told}") for problem in self._see()]
        self._rules.check_choices(self._path)
        checked = self._check(mapped)
        self._refuse_positions_from_one(checked)
        self._confidence.check()
        records: Sequence[Record] = tuple(self._records())
        if self._plain is not None and self._plain.rows.height:
            records = [*self._as_columns(self._plain), *records]
        rows = tuple(one.rows[step] for one in self._answered.values() for step in one.texts)
        summary = self._summary(there, checked)
        none = self._plain is None and all(one.seen.problems for one in self._answered.values())
        return Imported(records, tuple(self._rejected), tuple(warnings), summary, rows, unreadable=none)

    def _as_columns(self, plain: Plain) -> list[Record]:
        """Return the records of the rows that were matched as columns."""
        item, item_hash, number = plain.rows.row(0)
        text = plain.answers[number].text
        (step,) = self._rules.all_steps
        identity = [self._rules.name, self._model, self._run, item, self._usual, text, "import"]
        first = imported_record(
            self._rules.name, (item, item_hash), model=self._model, run=self._run, condition=self._usual, step=step,
            text=text, identity=identity, request_json=self._request(),
        )  # fmt: skip
        return plain.records(first, identity)

    def _request(self) -> str:
        scale = self._options.scale
        return "{}" if scale in (None, self._rules.scale) else json.dumps({"confidence_scale": str(scale)})

    def _refuse_positions_from_one(self, checked: Sequence[Checked]) -> None:
        """Refuse positions that run from 1 without a gap, where nothing proves that they are meant so."""
        found, options = self._positions, self._options
        proven = any(each.compared and not each.differ for each in checked)
        trusted = {"position", self._columns.get("position", "")} & set(options.trust)
        if proven or trusted or options.from_one or set(self._matched) != {"position"}:
            return
        if len(found) >= _FROM_ONE and min(found) == 1 and max(found) == len(found):
            raise StudyError(
                f"{self._path}: positions run from 1 to {max(found)} and none is 0, so they seem to begin at 1; nothing "
                "was kept; take them so with --from-one, or as they are with --trust position"
            )

    def repeated(self) -> int:
        """Return how many rows are about what an earlier row is about."""
        reasons = set(self._repeated.values())
        return sum(each.reason in reasons for each in self._rejected)

    def _records(self) -> Iterator[Record]:
        request, now = self._request(), datetime.now(UTC)
        hashes: dict[str, str] = {}
        for one in self._answered.values():
            if one.item.item_id not in hashes:
                hashes[one.item.item_id] = one.item.item_hash
            for step, text in one.texts.items():
                item_id, own = one.item.item_id, [] if self._single else [step]
                yield imported_record(
                    self._rules.name, (item_id, hashes[item_id]), model=self._model, run=self._run,
                    condition=one.condition, step=step, text=text, request_json=request, at=now,
                    identity=[self._rules.name, self._model, self._run, item_id, one.condition, *own, text, "import"],
                )  # fmt: skip

    def _check(self, mapped: frozenset[str]) -> list[Checked]:
        """Hold the checking columns to the items."""
        by = max(self._matched, key=lambda name: self._matched[name], default=ITEM_FIELDS[0])
        if not self._claims:
            return Checks(self._path, self._rules, (), self._options.trust).check(
                (), self._columns, [name for name in self._proofs if name in self._columns], mapped, by
            )
        checks = Checks(self._path, self._rules, self._names.order, self._options.trust)
        return checks.check(self._claims, self._columns, [*self._proofs, *self._other], mapped, by)

    # --- what is shown -------------------------------------------------------------------------------------------------
    def _summary(self, there: Sequence[str], checked: Sequence[Checked]) -> tuple[str, ...]:
        """Return how the file was understood, line by line."""
        plain = self._plain
        taken = self._taken + (plain.rows.height if plain else 0)
        by = ", ".join(f"{count} by {name}" for name, count in self._matched.items()) or "none"
        proof = "; ".join(map(str, checked))
        proof = proof or "nothing in it proves the match (map key, correct or question)"
        right = [one.seen.right for one in self._answered.values() if one.seen.right is not None]
        known = len(right) + (plain.rows.height if plain else 0)
        hits = sum(right) + (plain.right if plain else 0)
        accuracy = f"{hits / known:.3f} of {known} answers" if known else "no answer is right or wrong"
        lines = [
            f"{taken + len(self._rejected)} rows, {taken} taken; matched {by}; {proof}",
            f"accuracy {accuracy}; {self._stated()}",
        ]
        if missing := [*self._unanswered(), *self._without_a_step()]:
            told = "what is missing is left out, the rest is scored with its coverage"
            where = f"where the study has allow_incomplete = true in [benchmarks.{self._rules.name}]"
            lines.append(f"{'; '.join(missing)}; {told}, {where}")
        return (*lines, used_columns(self._columns, there))

    def _unanswered(self) -> Iterator[str]:
        """Say of each condition how many of its items have no answer."""
        answered = Counter[str]()
        expected = self._rules.expected()
        for item_id, condition in self._answered:
            answered[condition] += item_id in expected.get(condition, ())
        plain, word = self._plain, self._rules.item_word
        if plain is not None:
            answered[self._usual] += plain.rows.height
        for condition, items in expected.items():
            size = len(items) if plain is None else plain.items
            if 0 < answered[condition] < size:
                yield f"{answered[condition]} of {size} {word}s have an answer under {condition}"
        if nothing := [name for name in expected if not answered[name]]:
            yield f"no {word} has one under {', '.join(nothing)}"

    def _without_a_step(self) -> Iterator[str]:
        """Say how many answers lack a step."""
        halves = [one for one in self._answered.values() if self._lacks(one)]
        if halves:
            yield f"{len(halves)} lack a step, as {halves[0].item.item_id} lacks {self._lacks(halves[0])}"

    def _lacks(self, one: Answered) -> str:
        needed = self._rules.needed(one.item, one.condition)
        return next((step for step in needed if step not in one.texts), "")

    def _stated(self) -> str:
        fields = [field for field in self._rules.rated if field in self._columns]
        if fields and self._confidence:
            return str(self._confidence)
        replies = {RESPONSE, *self._rules.all_steps} - set(self._rules.own)
        if fields or (self._rules.rated and not replies & set(self._columns)):
            return "no confidence: what rests on it is not scored"
        return "confidence is in the replies"
