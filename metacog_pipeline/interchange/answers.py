"""Rows of a table about items of a benchmark, read: which item, which replies, and what proves or contradicts them.

A key, a correctness, a question or a second name of the item is a checksum: one disagreement refuses the file before
anything is kept, unless it is trusted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange import columns as named
from metacog_pipeline.interchange.answer_files import AnswerFile, FileRow, Table
from metacog_pipeline.interchange.columns import absent
from metacog_pipeline.interchange.confidence import Confidence
from metacog_pipeline.interchange.import_cells import RowError, correctness, only, reply_text, shown, whole
from metacog_pipeline.interchange.import_columns import used_columns
from metacog_pipeline.interchange.import_rules import (
    CHECKS,
    ITEM_FIELDS,
    RESPONSE,
    STEP,
    RowRules,
    Seen,
)
from metacog_pipeline.interchange.imported import Imported, ImportOptions, Rejected, imported_record
from metacog_pipeline.transcripts.schema import Record

_CACHED = 100_000  # names of items remembered, so that a long table is not looked up row by row
_SHOWN = 3
_FROM_ONE = 2  # positions, one after another, from which it shows that none is 0


class Place(NamedTuple):
    """What a row is about; ``by`` is the field that names the item, ``other`` the item that each later field names."""

    item: Any
    condition: str
    by: str
    other: Mapping[str, Any]


class Items:
    """Finds the item that the fields of a row name: by id, by position (from ``first``), or by the text of its question."""

    def __init__(self, rules: RowRules, columns: Mapping[str, str], first: int = 0) -> None:
        self._rules, self._first = rules, first
        self._fields = [field for field in ITEM_FIELDS if field in columns]
        self._by_id = {item.item_id: item for item in rules.items}
        self._folded = {item_id.casefold(): item for item_id, item in self._by_id.items()}
        self._by_position: dict[int, list[Any]] = {}
        self._by_question: dict[str, list[Any]] = {}
        for item in rules.items if "position" in columns or "question" in columns else ():
            self._by_position.setdefault(item.position, []).append(item)
            for text in {rules.fold(each) for each in rules.questions(item)} if "question" in columns else ():
                self._by_question.setdefault(text, []).append(item)

    def find(self, given: Mapping[str, Any]) -> tuple[Any, str, Mapping[str, Any]]:
        """Return the item, by which field it was found, and what each further field names."""
        names = {field: given[field] for field in self._fields if not absent(given[field])}
        if not names:
            raise RowError(f"the row names no {self._rules.item_word}")
        found, by, other = None, "", {}
        for field, value in names.items():
            there = self._named(field, value, given)
            one = there[0] if len(there) == 1 else None
            if found is None:
                found, by = one, field
            elif not (one is None and field == "question" and found in there):  # several have this question
                other[field] = one
        if found is None:
            raise RowError(self._unknown(names, given))
        return found, by, other

    def _named(self, field: str, value: Any, given: Mapping[str, Any]) -> list[Any]:
        text, place = str(value).strip(), whole(value)
        if field == "item_id":
            one = self._by_id.get(text) or self._folded.get(text.casefold())
            one = one or self._by_id.get(str(place))  # 12.0 where a data frame had gaps
            return [] if one is None else [one]
        if field == "position":
            there = [] if place is None else self._by_position.get(place - self._first, [])
        else:
            there = self._by_question.get(self._rules.fold(str(value)), [])
        part = given.get(self._rules.grouped or "")
        if len(there) > 1 and not absent(part):
            own = str(part).strip().casefold()
            there = [each for each in there if str(getattr(each, str(self._rules.grouped))).casefold() == own]
        key = given.get("key")
        if len(there) > 1 and field == "question" and not self._rules.options and not absent(key):
            there = [each for each in there if self._rules.agrees(each, str(key).strip())] or there
        return there

    def _unknown(self, names: Mapping[str, Any], given: Mapping[str, Any]) -> str:
        for field, value in names.items():
            if (n := len(self._named(field, value, given))) > 1 and field == "question":
                return f"question {shown(value)} belongs to {n} items; give item_id or position"
            if n > 1:
                return f"{field} {shown(value)} is that of several items; map {self._rules.grouped} too"
        field, value = next(iter(names.items()))
        word, total = self._rules.item_word, len(self._by_id)
        hint = (
            "; if it is a place: --map position=…" if field == "item_id" and whole(value) is not None else ""
        )
        told = f"{field} " if word == "item" else ""
        return f"unknown {word}: {told}{shown(value)} is none of the {total} {word}s of this study{hint}"


class Answered:
    """The replies to one item under one condition, by step, and the first row of them."""

    __slots__ = ("condition", "item", "row", "rows", "seen", "texts")

    def __init__(self, item: Any, condition: str, row: int, texts: dict[str, str], seen: Seen | None) -> None:
        self.item, self.condition, self.row, self.texts, self.seen = item, condition, row, texts, seen
        self.rows: dict[str, int] = {}  # of steps that came in later rows


class Claim(NamedTuple):
    """What the checking columns of a row say: cells of ``key`` and ``correct``; of other names the item, None of none."""

    row: int
    one: Answered
    said: Mapping[str, Any]


class Reader:
    """Reads the rows of one model and run, then says how they were understood."""

    def __init__(
        self,
        path: Path,
        rules: RowRules,
        columns: dict[str, str],
        options: ImportOptions,
        usual: str,
        items: Items,
        model: str = "",
        run: int = 1,
    ) -> None:
        self._path, self._rules, self._columns, self._options = path, rules, columns, options
        self._usual, self._items, self._model, self._run = usual, items, model, run
        twofold = ("key",) if "question" in columns and not rules.options else ()
        naming = (*ITEM_FIELDS, rules.grouped or "", "condition", *twofold)
        self._naming = [field for field in naming if field in columns]
        self._said = {f: c for f, c in columns.items() if f not in self._naming or f in twofold}
        self._single = len(rules.all_steps) == 1
        self._places: dict[tuple[Any, ...], Place | str] = {}
        self._plain: dict[tuple[Any, ...], tuple[dict[str, str], int] | None] = {}
        self._answered: dict[tuple[str, str], Answered] = {}
        self.rejected: list[Rejected] = []
        self._repeated: dict[tuple[str, str, str], str] = {}
        self._matched: Counter[str] = Counter()
        self._confidence = Confidence(path, rules, options.scale)
        self._claims: list[Claim] = []
        self._taken = 0
        self._positions: set[int] = set()
        rules.given = frozenset(columns)

    # --- rows ---------------------------------------------------------------------------------------------------------
    def take(self, row: FileRow) -> None:
        """Add what a row says, or the reason it is not taken."""
        try:
            reason = row.broken or self._take(row)
        except RowError as error:
            reason = one_line(str(error))
        if reason is not None:
            self.rejected.append(Rejected(row.number, reason))

    def _take(self, row: FileRow) -> str | None:
        place = self._placed(row.cells)
        if isinstance(place, str):
            return place
        item, condition, by, other = place
        key = (item.item_id, condition)
        there = self._answered.get(key)
        if there is not None and self._single:
            return self._second(there, "")
        said = {field: named.cell(row.cells, column) for field, column in self._said.items()}
        texts, seen = self._replies(item, condition, said, row.number)
        if there is None:
            there = self._answered[key] = Answered(item, condition, row.number, texts, seen)
        elif twice := next((step for step in texts if step in there.texts), ""):
            return self._second(there, twice)
        else:
            there.rows.update(dict.fromkeys(texts, row.number))
            there.texts = {**there.texts, **texts}
        self._matched[by] += 1
        self._taken += 1
        stated = {name: only(self._options.shape.word(said[name])) for name in CHECKS if name in said}
        proofs = {name: value for name, value in stated.items() if not named.missing(value)}
        if proofs or other:
            self._claims.append(Claim(row.number, there, {**proofs, **other}))
        return None

    def _second(self, there: Answered, step: str) -> str:
        """Say that of two rows about the same the first counts."""
        key = (there.item.item_id, there.condition, step)
        if key not in self._repeated:
            under = f" under {there.condition}" if there.condition != self._usual else ""
            of, first = f"{step} of " if step else "", there.rows.get(step, there.row)
            self._repeated[key] = (
                f"{of}{self._rules.item_word} {there.item.item_id}{under} is given twice, first in row {first}; the first "
                "one counts"
            )
        return self._repeated[key]

    def _placed(self, cells: Mapping[str, Any]) -> Place | str:
        """Return what a row is about, or why nothing."""
        key = tuple(named.cell(cells, self._columns[field]) for field in self._naming)
        try:
            if (known := self._places.get(key)) is not None:
                return known
        except TypeError:  # a list or an object
            key = ()
        given = dict(
            zip(self._naming, key or (named.cell(cells, self._columns[f]) for f in self._naming), strict=True)
        )
        if (position := whole(given.get("position"))) is not None:
            self._positions.add(position)
        found: Place | str
        try:
            item, by, other = self._items.find(given)
            told = given.get("condition")
            condition = self._usual if absent(told) else self._rules.condition_named(str(told))
            self._rules.check_asked(item, condition)
            found = Place(item, condition, by, other)
        except RowError as error:
            found = one_line(str(error))
        if key and len(self._places) < _CACHED:
            self._places[key] = found
        return found

    def _replies(
        self, item: Any, condition: str, said: Mapping[str, Any], number: int
    ) -> tuple[dict[str, str], Seen | None]:
        """Return the replies of a row by step, raw ones, else those put together from its fields; and what they say,
        where that is known at once."""
        steps = self._rules.steps(item, condition)
        found = {
            step: reply_text(said[step], step)
            for step in steps
            if step in said and step not in self._rules.own and not absent(said[step])
        }
        raw, own, unreadable = said.get(RESPONSE), None, None
        if raw is not None and raw == raw:  # an empty text is a reply, NaN is none
            if (bare := self._rules.bare(raw)) is not None:
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
            return texts, Seen(int(option == self._rules.target(item)), option)
        if own:
            return {**self._rules.replies(item, condition, own), **found}, None
        if found:
            return found, None
        if unreadable is None and any(field in said for field in self._rules.own):
            return self._rules.replies(item, condition, own), None  # says what is missing
        raise unreadable or RowError(f"there is no reply to {self._rules.item_word} {item.item_id}")

    def _as_plain(self, own: Mapping[str, Any]) -> tuple[dict[str, str], int] | None:
        """Return replies that are the same for any item, and the option they choose: a long table has few of them."""
        try:
            if (key := tuple(own.items())) not in self._plain:
                made = self._rules.plain(own)
                self._plain[key] = None if made is None else ({self._rules.all_steps[0]: made[0]}, made[1])
            return self._plain[key]
        except (TypeError, RowError):  # a list or an object; what is no answer is told with its item
            return None

    def _own(self, said: Mapping[str, Any], number: int) -> dict[str, Any]:
        """Return the fields of an answer that say something, words replaced and confidence on the scale asked for."""
        found: dict[str, Any] = {}
        for field in self._rules.own:
            value, rated = said.get(field), field in self._rules.rated
            if not rated or named.number(value) is None:
                value = self._options.shape.word(value)
            if rated and self._confidence.none_stated(value):
                self._confidence.missing += field in said
            elif rated:
                found[field] = self._confidence.take(value, number)
            elif not named.missing(value):
                found[field] = value
        return found

    def _step(
        self, said: Mapping[str, Any], steps: Sequence[str], item: Any, found: Mapping[str, str]
    ) -> str:
        """Return the step a raw reply is to: the one named, or the only one that has no column of its own."""
        word = "" if absent(said.get(STEP)) else str(said[STEP]).strip()
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

    # --- all rows -----------------------------------------------------------------------------------------------------
    def _see(self) -> list[str]:
        """Read the replies to every item; return what cannot be read."""
        problems: list[str] = []
        for one in self._answered.values():
            if one.seen is None:
                one.seen = self._rules.seen(one.item, one.condition, one.texts)
            problems += one.seen.problems
        return problems

    def finish(self, mapped: frozenset[str], there: Sequence[str]) -> Imported:
        """Read the replies, hold the checking columns to the items, and return what was taken."""
        told = f"(run {self._run}): recorded as unparsable"
        warnings = tuple(one_line(f"{problem} {told}") for problem in self._see())
        self._rules.check_choices(self._path)
        proven, proofs = self._checked(mapped)
        if not proven:
            self._refuse_positions_from_one()
        self._confidence.check()
        rows = tuple(one.rows.get(s, one.row) for one in self._answered.values() for s in one.texts)
        summary = self._summary(there, proofs)
        return Imported(list(self._records()), tuple(self.rejected), warnings, summary, rows)

    def _records(self) -> Iterator[Record]:
        rules, scale = self._rules, self._options.scale
        request = "{}" if scale in (None, rules.scale) else json.dumps({"confidence_scale": str(scale)})
        now, also = datetime.now(UTC), self._options.also
        for one in self._answered.values():
            item = one.item.item_id, one.item.item_hash
            for step, text in one.texts.items():
                own = [] if self._single else [step]
                identity = [rules.name, self._model, self._run, item[0], one.condition, *own, text, "import"]
                yield imported_record(
                    rules.name, item, model=self._model, run=self._run, condition=one.condition, step=step, text=text,
                    request_json=request, at=now, identity=identity,
                    also=None if also is None else also(one.rows.get(step, one.row)),
                )  # fmt: skip

    def _checked(self, mapped: frozenset[str]) -> tuple[bool, list[str]]:
        """Hold the checking columns to the items; return whether one of them proves the match, and a line of each.

        A column found by its name alone must be what it is called: else it is taken out of the columns and proves nothing.
        Raises ``StudyError`` for a disagreement that is not trusted.
        """
        trust = self._options.trust
        for name in trust:
            if name not in {"run", *self._columns, *self._columns.values()}:
                raise StudyError(
                    f"--trust {name}: the file has no such field; it has {', '.join(self._columns)}"
                )
        proven, lines = False, []
        for field in [each for each in (*CHECKS, *ITEM_FIELDS[1:]) if each in self._columns]:
            said = [each for each in self._claims if field in each.said]
            agrees = [self._agrees(field, each) for each in said]
            if not said or (field not in mapped and 2 * agrees.count(None) > len(said)):
                if field in CHECKS and field not in mapped:
                    del self._columns[field]
                continue
            counted = [
                (each, right)
                for each, right in zip(said, agrees, strict=True)
                if field != "correct" or (each.one.seen is not None and each.one.seen.right is not None)
            ]
            wrong, column = [each for each, right in counted if not right], self._columns[field]
            told = f"{len(wrong)} of {len(counted)} disagree" if wrong else f"all {len(counted)} rows agree"
            if wrong and not {field, column} & set(trust):
                where = ", ".join(self._words(field, each) for each in wrong[:_SHOWN])
                raise StudyError(
                    f"{self._path}: {field} (column {column!r}) disagrees with the study in {len(wrong)} of {len(counted)} "
                    f"rows: {where}{', …' if len(wrong) > _SHOWN else ''}; nothing was kept; correct the file, or take it "
                    f"as it is with --trust {field}"
                )
            proven = proven or bool(counted and not wrong)
            lines.append(f"{field} (column {column!r}): {told}{', trusted' if wrong else ''}")
        return proven, lines

    def _agrees(self, field: str, claim: Claim) -> bool | None:
        """Return whether a claim agrees with its item; None where the cell cannot be read."""
        value, rules, one = claim.said[field], self._rules, claim.one
        try:
            if field == "key" and rules.options:
                return rules.option(one.item, value) == rules.target(one.item)
            if field == "key":
                return rules.agrees(one.item, str(value).strip())
        except RowError:
            return None
        if field == "correct":
            stated = correctness(value)
            return None if stated is None else one.seen is not None and stated == one.seen.right
        return None if value is None else bool(value is one.item)

    def _words(self, field: str, claim: Claim) -> str:
        """Return a row that disagrees, for people."""
        value, item, rules = claim.said[field], claim.one.item, self._rules
        if self._agrees(field, claim) is None:
            return f"row {claim.row} ({item.item_id}) cannot be read"
        if field not in CHECKS:
            return f"row {claim.row} ({item.item_id}) is that of {value.item_id}"
        ours: object = rules.keyed(item)
        if field == "correct":
            ours = None if claim.one.seen is None else claim.one.seen.right
        elif rules.options:
            value = rules.options[rules.option(item, value)]
        return f"row {claim.row} ({item.item_id}) says {one_line(str(value), 60)}, the study {one_line(str(ours), 60)}"

    def _refuse_positions_from_one(self) -> None:
        """Refuse positions that run from 1 without a gap, where nothing proves that they are meant so."""
        found, options = self._positions, self._options
        trusted = {"position", self._columns.get("position", "")} & set(options.trust)
        if trusted or options.from_one or set(self._matched) != {"position"}:
            return
        if len(found) >= _FROM_ONE and min(found) == 1 and max(found) == len(found):
            raise StudyError(
                f"{self._path}: positions run from 1 to {max(found)} and none is 0, so they seem to begin at 1; nothing "
                "was kept; take them so with --from-one, or as they are with --trust position"
            )

    # --- what is shown ------------------------------------------------------------------------------------------------
    def _summary(self, there: Sequence[str], proofs: Sequence[str]) -> tuple[str, ...]:
        by = ", ".join(f"{count} by {name}" for name, count in self._matched.items()) or "none"
        proof = "; ".join(proofs) or "nothing in it proves the match (map key, correct or question)"
        right = [one.seen.right for one in self._answered.values() if one.seen and one.seen.right is not None]
        accuracy = (
            f"{sum(right) / len(right):.3f} of {len(right)} answers"
            if right
            else "no answer is right or wrong"
        )
        lines = [
            f"{self._taken + len(self.rejected)} rows, {self._taken} taken; matched {by}; {proof}",
            f"accuracy {accuracy}; {self._stated()}",
        ]
        if missing := list(self._missing()):
            told = "what is missing is left out, the rest is scored with its coverage"
            where = f"where the study has allow_incomplete = true in [benchmarks.{self._rules.name}]"
            lines.append(f"{'; '.join(missing)}; {told}, {where}")
        return (*lines, used_columns(self._columns, there))

    def _missing(self) -> Iterator[str]:
        """Say of each condition how many of its items have no answer, and how many answers lack a step."""
        answered, word = Counter[str](), self._rules.item_word
        expected = self._rules.expected()
        for item_id, condition in self._answered:
            answered[condition] += item_id in expected.get(condition, ())
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

    def _stated(self) -> str:
        fields = [field for field in self._rules.rated if field in self._columns]
        if fields and self._confidence:
            return str(self._confidence)
        replies = {RESPONSE, *self._rules.all_steps} - set(self._rules.own)
        lacks = fields or (self._rules.rated and not replies & set(self._columns))
        return "no confidence: what rests on it is not scored" if lacks else "confidence is in the replies"


def read_groups(
    rules: RowRules,
    rows: AnswerFile | Table,
    columns: dict[str, str],
    usual: str,
    options: ImportOptions,
    mapped: frozenset[str],
    group: Callable[[Mapping[str, Any]], tuple[str, int] | str],
) -> tuple[dict[tuple[str, int], Imported], list[Rejected]]:
    """Return what was read of each group of rows, and the rows of none.

    ``group`` returns model and run of a row's cells, or why it has none.
    """
    items = Items(rules, columns, first=int(options.from_one))
    readers: dict[tuple[str, int], Reader] = {}
    rejected: list[Rejected] = []
    for row in rows:
        who = row.broken if row.broken is not None else group(row.cells)
        if isinstance(who, str):
            rejected.append(Rejected(row.number, who))
            continue
        if who not in readers:
            readers[who] = Reader(rows.path, rules, dict(columns), options, usual, items, *who)
        readers[who].take(row)
    if len(readers) == 1:  # what cannot be read is of the only one
        (reader,) = readers.values()
        reader.rejected, rejected = sorted([*rejected, *reader.rejected]), []
    return {who: each.finish(mapped, rows.columns) for who, each in readers.items()}, rejected
