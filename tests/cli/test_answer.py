"""``metacog explain STUDY ANSWER_ID``: all that is kept of one call, safe to print."""

import asyncio
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.files import sha256_hex
from metacog_pipeline.home import Home
from metacog_pipeline.interchange.importing import imported_record
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import PartitionFolder, PartitionStore

ID = sha256_hex("one")


def record(**columns: Any) -> Record:
    made = imported_record(
        "metamedqa", ("i", "h"), model="sim", run=1, condition="c", step="answer", text="B", identity=["x"]
    )
    return dataclasses.replace(made, **{"answer_id": ID, **columns})


def keep(study: Path, *records: Record) -> None:
    async def kept(store: PartitionStore) -> None:
        for each in records:
            await store.keep(each)

    with PartitionStore.open(PartitionFolder(Home(study.parent / "home"), "metamedqa", "sim", 1)) as store:
        asyncio.run(kept(store))


def test_all_that_is_kept_is_json_without_control_characters(metacog, study):
    text = "\x1b[2J\u202e\ud83d \x00<script>"
    failed = record(status="failed", text="half", http_status=200)
    answered = record(
        text=text,
        reasoning_text=text,
        prices_json='{"in":1}',
        request_json="{",
    )
    keep(study, failed, answered)
    result = metacog("explain", study, ID[:8])
    assert result.code == 0 and result.out.isascii() and "\x1b" not in result.out
    first, second = (json.loads(part + "}") for part in result.out.split("\n}\n")[:2])
    assert (first["status"], first["text"]) == ("failed", "half")
    assert (second["text"], second["reasoning_text"]) == (text, text)
    assert (second["prices"], second["request"]) == ({"in": 1}, "{")


@pytest.mark.parametrize("wrong", ["", "abc", "A" * 64, "g" * 64, "../../etc/passwd", "0" * 65, "é" * 10])
def test_what_is_no_id_is_refused_in_one_line(metacog, study, wrong):
    result = metacog("explain", study, wrong)
    assert result.code == 2 and "Traceback" not in result.err and "8 to 64 of its digits" in result.err


def test_what_is_not_kept_is_one_line_that_says_what_to_do(metacog, study):
    metacog("explain", study, "0" * 64).refused_in_one_line("no call of this id", "metacog sql")
    keep(study, record(), record(answer_id=ID[:12] + "0" * 52))
    metacog("explain", study, ID[:12]).refused_in_one_line("2 calls begin so", "more digits")
