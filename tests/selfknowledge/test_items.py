"""Items are their source's questions, drawn alike everywhere; splits share nothing."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.selfknowledge import items as of_items
from metacog_pipeline.benchmarks.selfknowledge.items import (
    LANGUAGE_OF,
    PARTS,
    Item,
    Row,
    asked,
    build,
    select,
    split_of,
)
from metacog_pipeline.errors import StudyError

ITEM = Item(
    item_id="sk-x-000000", dataset="x", split="all", questions=(("en", "Who?"), ("ko", "누구?")),
    answers=(("en", ("Ada", "Ada Lovelace")), ("ko", ())), source="x",
)  # fmt: skip


def changed(item: Item, **fields: object) -> Item:
    return item.model_copy(update=fields)


def row(number: int, event: str = "", answers: tuple[str, ...] = ("yes",)) -> Row:
    asks = {"en": f"question {number}"}
    return Row(
        number=number, question_id=f"q{number}", questions=asks, answers={"en": list(answers)}, event_id=event
    )


def test_a_condition_asks_only_what_has_its_language():
    english = changed(ITEM, questions=ITEM.questions[:1], answers=ITEM.answers[:1])
    counts = {name: len(asked([ITEM, english], name)) for name in LANGUAGE_OF}
    assert counts == {name: {"en": 2, "ko": 1}.get(LANGUAGE_OF[name], 0) for name in LANGUAGE_OF}


def test_the_hash_follows_what_is_asked_and_accepted_and_nothing_else():
    same = changed(ITEM, item_id="y", position=9, topic="t", questions=tuple(reversed(ITEM.questions)))
    assert same.item_hash == ITEM.item_hash
    for other in (
        changed(ITEM, questions=(("en", "Who then?"), ITEM.questions[1])),
        changed(ITEM, answers=(("en", ("Ada",)), ("ko", ()))),
    ):
        assert other.item_hash != ITEM.item_hash


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 5))
def test_a_larger_limit_only_adds(few, more, seed):
    rows = [row(n) for n in range(30)]
    sizes = (min(few, more), max(few, more), None)
    first, second, whole = (
        build({"nq_open": rows}, "nq_open", "validation", limit=n, seed=seed) for n in sizes
    )
    assert second[: len(first)] == first and whole[: len(second)] == second and len(whole) == 30
    for place, item in enumerate(whole):
        own = rows[item.source_row]
        assert item.position == place and dict(item.questions) == own.questions
        assert {code: list(each) for code, each in item.answers} == own.answers


def test_the_same_row_has_the_same_id_in_every_split_and_draw():
    parts = {"trivia_qa_train": [row(0), row(1)], "trivia_qa": [row(0)]}
    both = [item.item_id for item in build(parts, "trivia_qa", "all")]
    assert sorted(both) == [
        f"sk-trivia_qa-{part}" for part in ("train-000000", "train-000001", "validation-000000")
    ]
    assert {each.item_id for each in build({"trivia_qa": [row(0)]}, "trivia_qa", "validation")} < set(both)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=60))
def test_fictional_questions_are_split_by_event_as_published(events):
    rows = [row(n, event=f"event_{event:03d}") for n, event in enumerate(events)]
    train, validation = (select(rows, "fictional_qa", split) for split in ("train", "validation"))
    names = sorted({each.event_id for each in rows})
    random.Random(42).shuffle(names)
    assert {each.event_id for each in train} == set(names[: len(names) // 2])
    assert sorted(train + validation, key=lambda each: each.number) == rows
    assert select(rows, "fictional_qa", "all") == rows


def test_the_facts_of_the_sample_are_halved_alike_for_every_study():
    facts = of_items.of_rows(of_items.SAMPLE_FILE, of_items.own)
    train, validation = (select(facts, "sample", split) for split in ("train", "validation"))
    assert {len(train), len(validation)} == {len(facts) // 2, len(facts) - len(facts) // 2}
    assert not {each.question_id for each in train} & {each.question_id for each in validation}


def test_a_split_there_is_not_is_refused_with_those_there_are():
    assert all(split_of(name, None) == next(iter(own)) for name, own in PARTS.items())
    with pytest.raises(StudyError, match="there are validation, all"):
        split_of("nq_open", "train")
