"""Asking an unusable answer again: every answer is kept, the newest usable one stands, the others are superseded."""

import asyncio

import pytest

from metacog_pipeline.asking.dry_run import stored_answers
from metacog_pipeline.llm.types import usable
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import PartitionStore, kept_records, read_partition
from tests.tables import every


def _session(folder: PartitionFolder, *records: Record, again: bool = False, current: bool = True) -> None:
    async def keep(store: PartitionStore) -> None:
        for record in records:
            await store.keep(record)

    with PartitionStore(folder) as store:
        if again:
            store.reask({record.answer_id for record in records})
        asyncio.run(keep(store))
        store.compact({record.answer_id for record in kept_records(folder)} if current else None)


def _found(folder: PartitionFolder, answer_id: str) -> str:
    with PartitionStore(folder) as store:
        found = store.find(answer_id)
    kept = stored_answers(folder)[answer_id]
    assert (kept.status, kept.text) == (found.status, found.text)
    return found.text


def _table(folder: PartitionFolder) -> list[tuple[str, int, bool]]:
    rows = read_partition(folder).to_pylist()
    return [(row["text"], row["reask"], row["superseded"]) for row in rows]


@every(
    ("status", "text", "expected"),
    [("ok", "A", True), ("ok", "", False), ("ok", " \n\u2003", False), ("truncated", "", False),
     ("truncated", "Let me", True), ("truncated", "<think>It may be B, but", False),
     ("truncated", "<think>It is B.</think>\n", False), ("truncated", "<think>It is B.</think>\nB, because", True),
     ("truncated", '{"answer": "B", "rea', False), ("truncated", ' {"answer": "B"} ', True),
     ("truncated", "[B] because", True), ("truncated", '{"a":' * 100_000, False), ("ok", '{"answer": "B", "rea', True),
     ("refused", "", False), ("refused", "I cannot help with that.", True), ("failed", "half of an answ", False)],
)  # fmt: skip
def test_usable_is_what_gives_something_to_read(status, text, expected):
    assert usable(status, text) is expected


def test_an_answer_asked_again_is_missing_until_the_new_one_is_kept(folder, make):
    _session(folder, make(0, text="", status="truncated"), make(1))
    first = make(0).answer_id
    with PartitionStore(folder) as store:
        store.reask([first, "f" * 64])
        assert store.find(first) is None and not store.has_row(first, make(0).item_id, "vanilla")
        assert store.find(make(1).answer_id) is not None
        asyncio.run(store.keep(make(0, text="B", started_at=make(9).started_at)))
        found = store.find(first)
        assert found is not None and found.text == "B"
        assert store.has_row(first, make(0).item_id, "vanilla")
    assert _found(folder, first) == "B"
    assert len(list(kept_records(folder))) == 3


def test_the_old_answer_is_superseded_and_both_are_paid_for(folder, make):
    _session(folder, make(0, text=""))
    _session(folder, make(0, text="B"), again=True)
    assert _table(folder) == [("", 0, True), ("B", 1, False)]
    with PartitionStore(folder) as store:
        assert store.cost_usd == pytest.approx(0.002)
        assert store.compact().superseded == 1
    for journal in folder.path.glob("journal-*"):  # only the copy is left: the same answer stands
        journal.unlink()
    assert _found(folder, make(0).answer_id) == "B"
    _session(folder, make(3), current=False)
    assert _table(folder)[:2] == [("", 0, True), ("B", 1, False)]


@pytest.mark.parametrize(
    ("texts", "stands"),
    [(["", "", "C"], "C"), (["", "B", "C"], "C"), (["", "", " "], " "), (["A", ""], "A"), (["A", "", "C"], "C"),
     (["", "B", ""], "B")],
)  # fmt: skip
def test_the_newest_usable_answer_stands_else_the_newest(folder, make, texts, stands):
    for n, text in enumerate(texts):
        _session(folder, make(0, text=text, started_at=make(n).started_at), again=n > 0)
    assert _found(folder, make(0).answer_id) == stands
    assert [text for text, _, superseded in _table(folder) if not superseded] == [stands]
    assert [number for _, number, _ in _table(folder)] == list(range(len(texts)))


def test_a_failed_second_try_leaves_the_first_answer(folder, make):
    _session(folder, make(0, text=""))
    _session(folder, make(0, status="failed", text="half"), again=True)
    assert _found(folder, make(0).answer_id) == ""
    assert sorted(_table(folder)) == [("", 0, False), ("half", 1, False)]


def test_a_second_item_with_the_same_words_gets_the_new_answer(folder, make):
    first = make(0).answer_id
    _session(folder, make(0, text="", item_id="a"), make(0, text="", item_id="b"))
    _session(folder, make(0, text="B", item_id="a"), again=True)

    async def copied(store: PartitionStore) -> None:
        assert store.has_row(first, "a", "vanilla") and not store.has_row(first, "b", "vanilla")
        await store.keep_reused(first, "b", "hash", "vanilla")
        assert store.has_row(first, "b", "vanilla")

    with PartitionStore(folder) as store:
        asyncio.run(copied(store))
        store.compact([first])
    standing = [row for row in read_partition(folder).to_pylist() if not row["superseded"]]
    assert [(row["item_id"], row["text"], row["reask"]) for row in standing] == [("a", "B", 1), ("b", "B", 1)]


def test_two_kept_answers_of_one_asking_stay_the_first_even_where_it_is_blank(folder, make):
    _session(folder, make(0, text=""))
    _session(folder, make(0, text="merged from another home", started_at=make(5).started_at))
    assert _found(folder, make(0).answer_id) == ""
    assert _table(folder) == [("", 0, False)]
