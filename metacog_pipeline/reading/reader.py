"""The one reader: the fields that were asked for, from one record of a reply, or a status that says why there are none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metacog_pipeline.reading.envelope import Envelope
from metacog_pipeline.reading.fields import AMBIGUOUS, NOTHING, REFUSED, UNKNOWN, Field, Fields, Found, Status
from metacog_pipeline.reading.numbers import TAKES_BACK, numbers
from metacog_pipeline.reading.records import Record, blanked, group, records

_CORRECTS = re.compile(
    rf"{TAKES_BACK.pattern}|\b(?:correct(?:ed)?|reconsider\w*|on\s+second\s+thoughts?|instead|sorry|mistake|double-?\s?check\w*"
    r"|transposed|miscalculat\w*|oops|revis\w+|updat\w+|change\s+my|let\s+me\s+re|final\w*|no,|wrong|(?:second\s+look|look\s+again))\b"
)
_RESTATES = re.compile(
    r"(?i)(?<!wrong )(?<!incorrect )(?<!tempting )\b(?:answer|choice|decision)\s+(?:is|should\s+be|must\s+be|would\s+be)\b"
)
# characters of a turn without names that is an answer and no prose
_SHORT_TURN = 120
_PAIR = re.compile(
    r"(?si)\W*(?P<answer>.{1,60}?)\W*(?:(?<!\d)[,;]|[,;](?!\d)|[|\n(]|\s{2,}|-\s)\s*(?P<other>~?[\d.,]+\s*%?(?:\s*(?:/|out\s+of)\s*\d+)?)"
    r"\W*(?:sure|confiden\w*|certain)?\W*$"
)
# "(D) 5", "0 3": a letter or digit and a number, nothing else.
_TWO = re.compile(r"\W*(?P<answer>[A-Za-z]|[01])\W{0,2}\s+(?P<other>\d+(?:[.,]\d+)?\s*%?)\W*$")
_JOINT = re.compile(r"(?s)^(?P<answer>.*?)[\s,;(\[]+(?P<other>~?[\d.,]+\s*%?(?:\s*/\s*\d+)?)[\])]*\s*%?\W*$")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says of each field, by its name; ``status`` is that of the first field, which is the answer."""

    status: Status
    fields: Mapping[str, Found]
    # Places of fields are places in the text of the envelope: where that begins in the reply, and in that to a second ask.
    start: int = 0
    second_start: int = 0

    def __getitem__(self, name: str) -> Found:
        return self.fields[name]


def read(envelope: Envelope, fields: Sequence[Field]) -> Reading:
    """Read ``fields``, the answer first, from one record of ``envelope``."""
    if envelope.status in ("refused", "truncated"):
        return _all(envelope.status, fields)
    first, others, text = fields[0], fields[1:], envelope.text
    if isinstance(first, Fields):
        whole = first.read(text)
        whole = Found("refused") if whole.status == "no_answer" and REFUSED.match(text.strip()) else whole
        return Reading(whole.status, {first.name: whole}, envelope.start)
    found = _with_other_name(records(text), first)
    answered = [record for record in found if first.name in record.values]
    chosen = _chosen(text, answered, first) if answered else _unnamed(text, found, fields)
    if answered:
        takes_back = isinstance(chosen, Record) or chosen.status == "ambiguous"
        chosen = _restated(text, answered[-1].end, first, takes_back=takes_back) or chosen
    if isinstance(chosen, Record):
        values = {each.name: _of_record(text, chosen, found, each, first) for each in fields}
        return Reading(values[first.name].status, values, envelope.start)
    turn = text.strip()
    if chosen.status == "no_answer" and REFUSED.match(turn) and not UNKNOWN.match(turn):
        return _all("refused", fields)
    several = chosen.status == "ambiguous" and len(answered) > 1
    rest = {each.name: AMBIGUOUS if several else _elsewhere(text, found, each) for each in others}
    return Reading(chosen.status, {first.name: chosen, **rest}, envelope.start)


def _with_other_name(found: Sequence[Record], first: Field) -> Sequence[Record]:
    """Return the records with a decision called answer, or an answer called decision, by the name asked for."""
    other = {"decision": "answer", "answer": "decision"}.get(first.name, "")
    if not any(first.name in record.values for record in found):
        for record in [record for record in found if other in record.values]:
            record.values[first.name] = record.values.pop(other)
    return found


def _all(status: Status, fields: Sequence[Field]) -> Reading:
    return Reading(status, {each.name: Found(status) for each in fields})


# --- which record answers -----------------------------------------------------------------------------------------------
def _chosen(text: str, answered: Sequence[Record], first: Field) -> Record | Found:
    """Return the record that counts of those that name an answer, or why there is none."""
    reads = [(record, _value_of(record, first, first)) for record in answered]
    stated = [(record, read) for record, read in reads if read.status == "ok"]
    if not stated:
        return next((read for _, read in reads if read.status in ("ambiguous", "out_of_range")), reads[-1][1])
    last = reads.index(stated[-1])
    if any(read.status == "ambiguous" for _, read in reads[last:]):
        return AMBIGUOUS
    if len({str(read.value) for _, read in stated}) == 1:
        return stated[0][0] if stated[0][0].several else stated[-1][0]
    return _of_several([record for record, _ in stated], text, first.name)


def _restated(text: str, end: int, first: Field, *, takes_back: bool) -> Found | None:
    """Return the answer that takes back what a reply named before, or that follows names without a value."""
    behind = text[end:]
    restates = [*_RESTATES.finditer(behind)]
    if not restates or (takes_back and not _CORRECTS.search(behind[: restates[-1].start() + 1])):
        return None
    stated = first.find(behind[restates[-1].start() :])
    return _placed(stated, end + restates[-1].start()) if stated.status == "ok" else None


def _of_several(stated: Sequence[Record], text: str, name: str) -> Record | Found:
    """Return the record that counts of several that disagree."""
    # One that comes later and corrects the others, or is called final; of guesses with their confidences the surest.
    last, before = stated[-1], stated[-2]
    between = (before.values[name].start, last.values[name].start)
    if not any(each.several for each in stated) and _CORRECTS.search(text, *between):
        return last
    said = [record.values["confidence"].said for record in stated if "confidence" in record.values]
    sure = [found.value for each in said for found in [*numbers(each.partition("/")[0])][:1]]
    first = len(sure) == len(stated) and sure[0] == max(sure) and sure.count(sure[0]) == 1
    return stated[0] if first else AMBIGUOUS


def _unnamed(text: str, found: Sequence[Record], fields: Sequence[Field]) -> Record | Found:
    """Read a turn that names no answer: a short one whole, else what its sentences state."""
    first, said = fields[0], NOTHING
    before = text[: min((record.start for record in found), default=len(text))]
    if len(text.strip()) <= _SHORT_TURN:
        span = (len(text) - len(text.lstrip()), len(text.rstrip()))
        pair = _PAIR.match(text, *span) or _TWO.match(text, *span) if len(fields) > 1 else None
        if pair is not None and first.read(pair["answer"]).status == "ok":
            both = {first.name: group(pair, "answer"), "confidence": group(pair, "other")}
            return Record(0, len(text), both)
        line = before.strip()
        said = first.read(line) if "\n" not in line and line[-1:] != "?" else NOTHING
        if said.status == "ok" or said.withheld:
            return _placed(said, text.index(line))
    stated = first.find(before if before.strip() else "")
    if stated.status == "no_answer" and found:
        stated = first.find(blanked(text, found))
    return said if stated.status == "no_answer" and said.status == "ambiguous" else stated


# --- the fields of a record ---------------------------------------------------------------------------------------------
def _of_record(text: str, chosen: Record, found: Sequence[Record], field: Field, first: Field) -> Found:
    """Return a field of the record that answers; ambiguous where a later record, or one that answers the same, differs."""
    if field.name not in chosen.values:
        return NOTHING if chosen.several else _elsewhere(text, found, field)
    mine, answer = _value_of(chosen, field, first), _value_of(chosen, first, first)
    for each in [] if chosen.several or field is first else found:
        other = _value_of(each, field, first) if field.name in each.values else NOTHING
        answers = first.name in each.values
        same = _value_of(each, first, first).value == answer.value if answers else each.start >= chosen.end
        if same and other.status == "ok" and other.value != mine.value:
            return AMBIGUOUS
    return mine


def _value_of(record: Record, field: Field, first: Field) -> Found:
    value = record.values[field.name]
    said, start = value.said, value.start
    if value.joint and (cut := _JOINT.match(said)):
        name = "answer" if field is first else "other"
        said, start = cut[name], start + cut.start(name)
    elif value.joint and field is not first:
        return NOTHING
    read = field.read(said)
    found = field.find(said) if read.status == "no_answer" and field is not first else read
    return _placed(found, start)


def _placed(read: Found, start: int) -> Found:
    return read if read.start < 0 else Found(read.status, read.value, start + read.start, start + read.end)


def _elsewhere(text: str, found: Sequence[Record], field: Field) -> Found:
    """Return a field that the record of the answer does not hold: of the last record that does, or from the words."""
    named = [record.values[field.name] for record in found if field.name in record.values]
    return _placed(field.read(named[-1].said), named[-1].start) if named else field.find(text)
