"""An item says what is asked and accepted in each language; its file is whole, unchanged, or refused."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmark.item_files import items_path, read_rows, write_rows
from metacog_pipeline.benchmarks.selfknowledge.items import CONDITIONS, LANGUAGE_OF, LANGUAGES, Item, asked
from metacog_pipeline.errors import SourceError
from metacog_pipeline.home import Home

ITEM = Item(
    item_id="sk-x-000000",
    dataset="x",
    split="all",
    questions=(("en", "Who?"), ("ko", "누구?")),
    answers=(("en", ("Ada", "Ada Lovelace")), ("ko", ())),
    source="x",
)


def replace(item: Item, **changed: object) -> Item:
    return item.model_copy(update=changed)


TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)


@st.composite
def items(draw: st.DrawFn) -> Item:
    languages = draw(st.lists(st.sampled_from(LANGUAGES), min_size=1, unique=True))
    return Item(
        item_id=draw(TEXT),
        dataset="x",
        split="all",
        position=draw(st.integers(0, 99)),
        questions=tuple((language, draw(TEXT)) for language in languages),
        answers=tuple((language, tuple(draw(st.lists(TEXT, max_size=3)))) for language in languages),
        question_id=draw(TEXT),
        topic=draw(TEXT),
    )


def test_a_language_without_a_question_has_none_and_accepts_nothing():
    assert ITEM.question() == "Who?" and ITEM.question("ko") == "누구?" and ITEM.question("es") is None
    assert ITEM.accepted() == ("Ada", "Ada Lovelace") and ITEM.accepted("ko") == ITEM.accepted("zh") == ()
    assert ITEM.answerable() and not ITEM.answerable("ko") and ITEM.languages == ("en", "ko")


def test_a_condition_asks_only_what_has_its_language():
    english = replace(ITEM, questions=ITEM.questions[:1], answers=ITEM.answers[:1])
    counts = {name: len(asked([ITEM, english], name)) for name in CONDITIONS}
    assert counts == {name: {"en": 2, "ko": 1}.get(LANGUAGE_OF[name], 0) for name in CONDITIONS}


def test_the_hash_follows_what_is_asked_and_accepted_and_nothing_else():
    same = replace(ITEM, item_id="y", position=9, topic="t", questions=tuple(reversed(ITEM.questions)))
    assert same.item_hash == ITEM.item_hash
    for changed in (
        replace(ITEM, questions=(("en", "Who then?"), ITEM.questions[1])),
        replace(ITEM, answers=(("en", ("Ada",)), ("ko", ()))),
        replace(ITEM, questions=ITEM.questions[:1], answers=ITEM.answers[:1]),
    ):
        assert changed.item_hash != ITEM.item_hash


@settings(max_examples=30, deadline=None)
@given(st.lists(items(), min_size=1, max_size=5))
def test_items_come_back_from_disk_as_they_were(tmp_path_factory, made):
    path = tmp_path_factory.mktemp("items") / "items.parquet"
    write_rows(path, made, Item, "")
    assert read_rows(path, Item) == made


def test_a_changed_torn_or_foreign_file_is_refused_in_one_line(tmp_path):
    path = items_path(Home(tmp_path), "selfknowledge")
    with pytest.raises(SourceError, match="not built yet"):
        read_rows(path, Item)
    write_rows(path, [ITEM], Item, "")
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[0]["answers"] = [("en", ["Grace"]), ("ko", [])]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    with pytest.raises(SourceError, match="sk-x-000000 was changed by hand"):
        read_rows(path, Item)
    pq.write_table(pa.table({"item_id": ["a"]}), path)
    with pytest.raises(SourceError, match="not those of this version"):
        read_rows(path, Item)
    path.write_bytes(b"PAR1 torn")
    with pytest.raises(SourceError, match="cannot be read"):
        read_rows(path, Item)
