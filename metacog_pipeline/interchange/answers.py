"""Rows about items of a benchmark: which item, which replies, and the key that proves or contradicts them.

A key is a checksum: the first one that disagrees refuses the file before anything is kept, unless it is trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import answer_cells
from metacog_pipeline.interchange.answer_cells import RowError, reply_text, shown
from metacog_pipeline.interchange.cells import absent, missing
from metacog_pipeline.interchange.confidence import Confidence
from metacog_pipeline.interchange.import_rules import ITEM_FIELDS, RESPONSE, ImportOptions, RowRules
from metacog_pipeline.interchange.question import ORDER
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.transcripts.lines import encode_logprobs

NO_VERDICT = "graded: ?"
_READ = 200  # rows that are put together and read to see that their fields can be read


def of_log(path: Path, rules: RowRules, samples: list[Sample], options: ImportOptions) -> None:
    """Give each sample of a log its item and its reply."""
    answers = Answers(path, rules, options)
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


def mode_of(each: Sample, item: Any) -> str:
    """Return the mode of a record: not scored and why, right as the log decided, or the order of the options."""
    # scoring reads the record alone, so that all of it has to be in it
    if each.unscored is not None:
        return f"unscored: {each.unscored}"
    if getattr(item, "kind", "") == "graded":
        return NO_VERDICT if each.right is None else f"graded: {int(each.right)}"
    return f"{ORDER}{each.order}" if each.order else "import"


def read_reply(benchmark: Any, item: Any, each: Sample) -> Any:
    """Return what a benchmark reads of a sample."""
    status, logprobs, mode = each.said.status.value, encode_logprobs(each.said.logprobs), mode_of(each, item)
    calls = {step: Call(status, text, mode, logprobs) for step, text in each.texts.items()}
    return benchmark.parse(item, each.condition, calls)


class Answers:
    """Gives samples the item, the condition and the replies that their rows say."""

    def __init__(
        self, path: Path, rules: RowRules, options: ImportOptions, fields: Mapping[str, str] | None = None
    ) -> None:
        """``fields`` are those that a table has, with their columns."""
        self._path, self._rules, self._options, self._fields = path, rules, options, fields or {}
        try:
            named = options.condition
            self._usual = rules.condition if named is None else rules.condition_named(named)
        except RowError as error:
            raise StudyError(f"--condition {named}: {error}") from None
        self._named: dict[str, list[Any]] = {}  # items by their ids and questions
        for item in rules.items:
            for name in {_folded(each) for each in (item.item_id, *rules.questions(item))}:
                self._named.setdefault(name, []).append(item)
        self.confidence, self.agree = Confidence(path, rules, options), 0

    def take(self, made: Sample, said: Mapping[str, Any]) -> None:
        """Fill a sample with what its row says; `RowError` where that is no answer to an item."""
        rules, run = self._rules, None if self._options.people else answer_cells.run_of(said.get("run"))
        item, stated = self._item(said), said.get("condition")
        condition = self._usual if absent(stated) else rules.condition_named(str(stated))
        rules.check_asked(item, condition)
        made.item, made.condition, made.run = item.item_id, condition, 1 if run is None else run
        made.texts = self._replies(item, condition, said, made.row)
        if not missing(correct := said.get("correct")):
            made.right = answer_cells.correctness(self._options.word(correct))
        key = answer_cells.only(self._options.word(said.get("key")))
        if not missing(key):
            self._prove(key, item, made.row)

    def _item(self, said: Mapping[str, Any]) -> Any:
        """Return the item that a row names by its id or its question, of several the one with its key."""
        names = {field: said[field] for field in ITEM_FIELDS if not absent(said.get(field))}
        found = [known for each in names.values() if (known := self._named.get(_folded(each)))]
        if not names:
            raise RowError("the row names no item")
        if not found:
            first, count = next(iter(names)), len(self._rules.items)
            raise RowError(f"{first} {shown(names[first])} is none of the {count} items of this study")
        both = [item for item in found[0] if item in found[-1]]
        if len(both) > 1 and not absent(key := said.get("key")):
            both = [item for item in both if self._rules.agrees(item, key)] or both
        if len(both) > 1:
            raise RowError(f"question {shown(said['question'])} belongs to {len(both)} items; give item_id")
        if not both:
            raise RowError(f"item {found[0][0].item_id} asks another question in the study")
        return both[0]

    def _replies(self, item: Any, condition: str, said: Mapping[str, Any], row: int) -> dict[str, str]:
        """Return the replies of a row by step: raw ones, else one put together from its fields."""
        rules, raw = self._rules, said.get(RESPONSE)
        cells = {name: self._options.word(said.get(name)) for name in rules.own if name not in rules.rated}
        cells |= {name: self.confidence.rating(said, name, row) for name in rules.rated}
        own = {name: cells[name] for name in rules.own if not missing(cells[name])}
        # a column named as a step has its reply, unless others have parts of that reply
        steps = (step for step in rules.steps(item, condition) if step not in rules.own or len(own) < 2)
        texts = ((step, said.get(step)) for step in steps)
        found = {step: reply_text(self._options.word(text), step) for step, text in texts if not absent(text)}
        if not found and own and absent(raw):
            return rules.replies(item, condition, own)
        if isinstance(raw, str) or not absent(raw):  # an empty text is a reply, too
            found[rules.free_step(item, condition, found)] = reply_text(raw, RESPONSE)
        if not found:
            raise RowError(f"there is no reply to item {item.item_id}")
        return found

    def _prove(self, key: Any, item: Any, row: int) -> None:
        try:
            agrees = self._rules.agrees(item, key)
        except RowError:
            if not any(pair.startswith("key=") for pair in self._options.pairs):
                return  # a column found by its name alone may hold no keys: then it proves nothing
            agrees = False
        self.agree += agrees
        if not agrees and "key" not in self._options.trust:
            raise StudyError(
                f"{self._path}: row {row}: the key {shown(key)} is not that of {item.item_id} in the study; nothing was "
                "kept; correct the file, or take it as it is with --trust key"
            )

    def lines(self, samples: Sequence[Sample]) -> list[str]:
        """Return what was found of keys and confidence; StudyError for confidence on no scale, and where no reply can be
        read of those that were put together."""
        self.confidence.check()
        put_together = {*self._rules.own} & {*self._fields}
        taken = [each for each in samples if each.why is None][:_READ] if put_together else []
        items = self._rules.by_id
        read = [read_reply(self._rules.benchmark, items[each.item], each) for each in taken]
        if read and {each.status for each in read} == {"answer_unparsed"}:
            text = next(iter(taken[0].texts.values()))
            why = f"none of its answers can be read, such as {shown(text)}; nothing was kept"
            raise StudyError(f"{self._path}: {why}; say what the cells mean, as in --map-values 0=A,1=B")
        agree = [f"key of {self.agree} rows agrees with the items"] if "key" in self._fields else []
        return [*agree, *([str(self.confidence)] if {*self._rules.rated} & {*self._fields} else [])]


def _folded(name: Any) -> str:
    number = answer_cells.whole(name)  # 12.0 where a data frame had gaps
    return answer_cells.folded(str(name if number is None else number))
