"""Replies in the manner of today's models, labelled before the reader was written."""

import json
from pathlib import Path

import pytest

from metacog_pipeline.reading.calls import said
from metacog_pipeline.reading.envelope import Envelope
from metacog_pipeline.reading.fields import Bet, Binary, Confidence, Letter, Number, YesNo
from metacog_pipeline.reading.names import ShortText
from metacog_pipeline.reading.reader import read

ROWS = [
    json.loads(line)
    for path in sorted(Path(__file__).parent.glob("*.jsonl"))
    for line in path.read_text("utf-8").splitlines()
]


def fields(row):
    low, _, high = row.get("scale", "").partition("-")
    sure = [Confidence(float(low), float(high))] if high else []
    match row["asks"]:
        case "letter":
            return [Letter(row["options"]), *sure]
        case "binary":
            return [Binary(row["labels"]), *sure]
        case "number":
            return [Number(row["unit"]), *sure]
        case "text":
            return [ShortText(row["aliases"]), *sure]
        case "yes_no":
            return [YesNo()]
    return [Letter(row["options"]), Bet(0, row["most"])]


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_labelled_reply_is_read_as_labelled(row):
    envelope = Envelope.of(row["reply"], "truncated" if row.get("cut") else "ok")
    asked = fields(row)
    found = read(envelope, asked)
    answer = said(found[asked[0].name])
    if row["asks"] == "text" and found.status == "ok":
        answer = asked[0].right(answer)
    assert (found.status, answer) == (
        row["status"],
        pytest.approx(row["answer"]) if isinstance(row["answer"], float) else row["answer"],
    )
    for name in ("confidence", "bet"):
        if name in found.fields and name in row and row["status"] == "ok":
            assert said(found[name]) == row[name]
