"""Rows about items of a benchmark: which item, which replies, and what proves or contradicts them.

A key, a correctness, or the text of the question in a row that names its item by id is a checksum: the first disagreement
refuses the file before anything is kept, unless it is trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import columns, table_columns
from metacog_pipeline.interchange.answer_files import AnswerFile
from metacog_pipeline.interchange.columns import RowError, absent, reply_text, shown
from metacog_pipeline.interchange.import_rules import CHECKS, ITEM_FIELDS, RESPONSE, ImportOptions, RowRules
from metacog_pipeline.interchange.record import Sample

_READ = 200  # answers that are read to say how good they are


def of_table(
    path: Path, rules: RowRules, pairs: Sequence[str], condition: str, options: ImportOptions
) -> tuple[list[Sample], list[str]]:
    """Return the rows of a table as samples, and how they were understood."""
    file = AnswerFile(path)
    mapping = table_columns.parse_mapping(pairs, rules.fields, rules.also)
    mapping = {"model": options.people, **mapping} if options.people else mapping
    fields = table_columns.resolved(file, rules, mapping)
    answers = Answers(path, rules, fields, options, condition, tuple(mapping))
    settings = {} if options.scale in (None, rules.scale) else {"confidence_scale": str(options.scale)}
    samples = table_columns.samples(file, fields, options, settings, answers.take)
    return samples, [*answers.summary(len(samples)), table_columns.used_columns(fields, file.columns)]


def of_log(
    path: Path, rules: RowRules, samples: list[Sample], options: ImportOptions
) -> tuple[list[Sample], list[str]]:
    """Return the samples of a log, each with its item, and how they were understood."""
    fields = dict.fromkeys((*ITEM_FIELDS, RESPONSE), "the log")
    answers = Answers(path, rules, fields, options, rules.condition)
    for each in samples:
        # no benchmark but that of own questions keeps what is not scored
        each.why = each.why or each.unscored
        asked = (each.question or {}).get("question")
        said = {"item_id": each.name, "question": asked, "run": each.run, RESPONSE: each.said.text}
        try:
            if each.why is None:
                answers.take(each, said)
        except RowError as error:
            each.why = str(error)
    return samples, answers.summary(len(samples))


class Answers:
    """Takes rows one by one, then says how they were understood."""

    def __init__(
        self, path: Path, rules: RowRules, fields: Mapping[str, str], options: ImportOptions, condition: str,
        mapped: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """``fields`` are the columns of the fields of a row, ``mapped`` those that the command line names."""
        self._path, self._rules, self._fields, self._mapped = path, rules, fields, mapped
        self._options = options
        try:
            self._usual = condition if condition == rules.condition else rules.condition_named(condition)
        except RowError as error:
            raise StudyError(f"--condition {condition}: {error}") from None
        self._by_id = {item.item_id: item for item in rules.items}
        self._folded = {item_id.casefold(): item for item_id, item in self._by_id.items()}
        self._by_question: dict[str, list[Any]] = {}
        for item in rules.items if "question" in fields else ():
            for text in {columns.folded(each) for each in rules.questions(item)}:
                self._by_question.setdefault(text, []).append(item)
        self._taken: dict[tuple[str, int, str, str], Sample] = {}
        self._agree = dict.fromkeys(("question", *CHECKS), 0)
        self._confidence = table_columns.Confidence(path, rules, options.scale)

    # --- rows ---------------------------------------------------------------------------------------------------------
    def take(self, made: Sample, said: Mapping[str, Any], cells: Mapping[str, Any] | None = None) -> None:
        """Give a sample the item, the condition and the replies that its row says; `RowError` where it has none."""
        run = None if self._options.people else columns.run_of(said.get("run"))
        made.run = 1 if run is None else run
        item, asks = self._find(said)
        stated = said.get("condition")
        condition = self._usual if absent(stated) else self._rules.condition_named(str(stated))
        self._rules.check_asked(item, condition)
        key = made.model, made.run, item.item_id, condition
        if (first := self._taken.get(key)) is not None:
            twice = f"is given twice under {condition}, first in row {first.row or first.name}; the first one counts"
            raise RowError(f"{self._rules.item_word} {item.item_id} {twice}")
        made.texts = self._replies(item, condition, said, made.row)
        made.item, made.condition = item.item_id, condition
        self._taken[key] = made
        if asks is not None:
            self._prove("question", asks, made.row, item, "has another question")
        for name in CHECKS:
            value = columns.only(self._options.word(said.get(name)))
            if not columns.missing(value):
                self._check(name, value, made, item)

    def _check(self, name: str, value: Any, made: Sample, item: Any) -> None:
        # a cell of a column found by its name alone may be no key and no correctness: then it proves nothing
        try:
            if name == "key":
                ours, agrees = self._rules.keyed(item), self._rules.agrees(item, value)
            elif (right := columns.correctness(value)) is None:
                raise RowError("is neither right nor wrong")
            elif len(self._rules.all_steps) > 1 or (mine := self._rules.right(self._parsed(made))) is None:
                return  # nothing is right or wrong here, or not yet
            else:
                ours, agrees = str(mine), mine == right
        except RowError:
            if name not in self._mapped:
                return
            ours, agrees = "cannot read it", False
        self._prove(name, agrees, made.row, item, f"says {shown(value)}, the study {ours}")

    def _prove(self, name: str, agrees: bool, row: int, item: Any, told: str) -> None:
        self._agree[name] += agrees
        if not agrees and name not in self._options.trust:
            raise StudyError(
                f"{self._path}: {name} (column {self._fields.get(name, name)!r}) disagrees with the study: row {row} "
                f"({item.item_id}) {told}; nothing was kept; correct the file, or take it as it is with --trust {name}"
            )

    def _find(self, said: Mapping[str, Any]) -> tuple[Any, bool | None]:
        """Return the item, and whether a question next to an id is that of the item."""
        rules, name, question = self._rules, said.get("item_id"), said.get("question")
        asking = [] if absent(question) else self._by_question.get(columns.folded(str(question)), [])
        if not absent(name):
            text = str(name).strip()
            found = self._by_id.get(text) or self._folded.get(text.casefold())
            found = found or self._by_id.get(str(columns.whole(name)))  # 12.0 where a data frame had gaps
            if found is not None:
                return found, None if absent(question) or not self._by_question else found in asking
        if len(asking) > 1 and not absent(key := said.get("key")):
            asking = [each for each in asking if rules.agrees(each, key)] or asking
        if len(asking) == 1:
            return asking[0], None
        if asking:
            raise RowError(f"question {shown(question)} belongs to {len(asking)} items; give item_id")
        if absent(name) and absent(question):
            raise RowError(f"the row names no {rules.item_word}")
        what = shown(question) if absent(name) else f"item_id {shown(name)}"
        raise RowError(f"{what} is none of the {len(self._by_id)} {rules.item_word}s of this study")

    def _replies(self, item: Any, condition: str, said: Mapping[str, Any], row: int) -> dict[str, str]:
        """Return the replies of a row by step: raw ones, else one put together from its fields."""
        rules, raw = self._rules, said.get(RESPONSE)
        own = self._confidence.stated(said, self._options, row)
        # a column named as a step has its reply, unless others have parts of that reply
        steps = (step for step in rules.steps(item, condition) if step not in rules.own or len(own) < 2)
        texts = ((step, said.get(step)) for step in steps)
        found = {step: reply_text(self._options.word(text), step) for step, text in texts if not absent(text)}
        if not found and own and absent(raw):
            return rules.replies(item, condition, own)
        if isinstance(raw, str) or not absent(raw):  # an empty text is a reply, too
            found[rules.free_step(item, condition, found)] = reply_text(raw, RESPONSE)
        if not found:
            raise RowError(f"there is no reply to {rules.item_word} {item.item_id}")
        return found

    # --- all rows -----------------------------------------------------------------------------------------------------
    def summary(self, rows: int) -> list[str]:
        """Return how all rows were understood; `StudyError` where they are refused together."""
        self._confidence.check()
        proof = "; ".join(f"{name} of {n} agrees" for name, n in self._agree.items() if n)
        every = list(self._taken.values())
        read = [self._parsed(each) for each in every[:: -(-len(every) // _READ) or 1]]  # the boards have all
        right = [value for value in map(self._rules.right, read) if value is not None]
        odd = sum(each.status in self._rules.benchmark.unreadable for each in read)
        put_together = {*self._rules.own} & {*self._fields}
        if put_together and {each.status for each in read} == {"answer_unparsed"}:
            text = next(iter(every[0].texts.values()))
            why = f"none of its answers can be read, such as {shown(text)}; nothing was kept"
            raise StudyError(f"{self._path}: {why}; say what the cells mean, as in --map-values 0=A,1=B")
        share = (
            f"accuracy {sum(right) / len(right):.3f} of {len(right)}" if right else "none is right or wrong"
        )
        lines = [
            f"{rows} rows, {len(every)} taken; {proof or 'nothing proves the match'}",
            f"of {len(read)} answers that were read {odd} cannot be read; {share}",
        ]
        return [*lines, str(self._confidence)] if {*self._rules.rated} & {*self._fields} else lines

    def _parsed(self, made: Sample) -> Any:
        calls = {step: Call("ok", text) for step, text in made.texts.items()}
        return self._rules.benchmark.parse(self._by_id[made.item], made.condition, calls)
