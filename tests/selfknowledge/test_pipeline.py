"""Items are their source's questions, drawn alike everywhere; splits share nothing; broken rules are found."""

import json
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.selfknowledge import sources
from metacog_pipeline.benchmarks.selfknowledge.construction import pipeline
from metacog_pipeline.benchmarks.selfknowledge.construction.build import Part, build, select
from metacog_pipeline.benchmarks.selfknowledge.construction.datasets import dataset_info
from metacog_pipeline.benchmarks.selfknowledge.construction.invariants import check
from metacog_pipeline.benchmarks.selfknowledge.construction.rows import Row, digest_of, read, write
from metacog_pipeline.benchmarks.selfknowledge.items import DATASETS, Item
from metacog_pipeline.benchmarks.selfknowledge.settings import Settings
from metacog_pipeline.errors import MetacogError, SourceError, StudyError
from metacog_pipeline.home import Home
from tests.tables import every


def changed(item: Item, **fields: object) -> Item:
    return item.model_copy(update=fields)


@dataclass
class Built:
    items: list[Item]
    counts: dict[str, int]
    violations: tuple[str, ...]


def construct(
    home: Path, dataset: str = "sample", *, split: str | None = None, folder: Path | None = None, **how: Any
) -> Built:
    """Build the items of a data set, as the steps of a study do."""
    asked = dataset_info(dataset).split(split)
    parts = pipeline.load_parts(Home(home), dataset, asked, folder)
    items = pipeline.items_of(parts, dataset, asked, **how)
    return Built(items, pipeline.counted(items), tuple(check(items, parts)))


def row(number: int, *, event: str = "", answers: tuple[str, ...] = ("yes",), text: str = "") -> Row:
    question = text or f"question {number}"
    return Row(f"q{number}", {"en": question}, {"en": answers}, number, event_id=event)


def nq_folder(folder: Path, n: int = 8) -> Path:
    folder.mkdir(exist_ok=True)
    rows = [{"question": f"question {k}", "answer": [f"answer {k}"]} for k in range(n)]
    (folder / "nq_open.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    return folder


# --- drawing -----------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 5))
def test_a_larger_limit_only_adds(few, more, seed):
    part = Part("nq_open", [row(n) for n in range(30)])
    first = build([part], "nq_open", "validation", limit=min(few, more), seed=seed)
    second = build([part], "nq_open", "validation", limit=max(few, more), seed=seed)
    whole = build([part], "nq_open", "validation", seed=seed)
    assert second[: len(first)] == first and whole[: len(second)] == second and len(whole) == 30
    assert check(whole, [part]) == check(first, [part]) == []


def test_another_seed_draws_others_but_never_changes_an_item():
    part = Part("nq_open", [row(n) for n in range(200)])
    one = {i.item_id: i.item_hash for i in build([part], "nq_open", "validation", limit=50, seed=1)}
    two = {i.item_id: i.item_hash for i in build([part], "nq_open", "validation", limit=50, seed=2)}
    assert set(one) != set(two) and all(one[name] == two[name] for name in one.keys() & two.keys())


def test_the_same_row_has_the_same_id_in_every_split_and_draw():
    parts = [Part("trivia_qa_train", [row(0), row(1)], "train"), Part("trivia_qa", [row(0)], "validation")]
    every = {item.item_id for item in build(parts, "trivia_qa", "all")}
    assert every == {
        "sk-trivia_qa-train-000000", "sk-trivia_qa-train-000001", "sk-trivia_qa-validation-000000",
    }  # fmt: skip
    assert {i.item_id for i in build(parts[1:], "trivia_qa", "validation")} < every


# --- splits ------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=60))
def test_fictional_questions_are_split_by_event_as_published(events):
    rows = [row(n, event=f"event_{event:03d}") for n, event in enumerate(events)]
    train, validation = (select(rows, "fictional_qa", split) for split in ("train", "validation"))
    names = sorted({each.event_id for each in rows})
    random.Random(42).shuffle(names)
    assert {each.event_id for each in train} == set(names[: len(names) // 2])
    assert {each.event_id for each in train}.isdisjoint(each.event_id for each in validation)
    assert sorted(train + validation, key=lambda each: each.number) == rows
    assert select(rows, "fictional_qa", "all") == rows


def test_the_split_of_a_hundred_events_is_pinned():
    rows = [row(n, event=f"event_{n:03d}") for n in range(100)]
    train = [each.event_id for each in select(rows, "fictional_qa", "train")]
    assert len(train) == 50 and train[:5] == ["event_001", "event_007", "event_008", "event_009", "event_010"]


def test_the_halves_of_the_sample_share_nothing_and_are_the_same_for_every_seed(tmp_path):
    drawn = [(split, seed) for split in ("train", "validation") for seed in (0, 9)]
    halves = [construct(tmp_path, split=split, seed=seed).items for split, seed in drawn]
    ids = [{item.item_id for item in half} for half in halves]
    assert ids[0] == ids[1] and ids[2] == ids[3] and not ids[0] & ids[2]
    assert ids[0] | ids[2] == {item.item_id for item in construct(tmp_path).items}
    assert abs(len(ids[0]) - len(ids[2])) <= 1


def test_every_data_set_of_a_study_is_known_and_has_a_part_to_ask():
    named = Settings.model_fields["dataset"].annotation
    assert set(getattr(named, "__args__", ())) == set(DATASETS)
    for name in DATASETS:
        info = dataset_info(name)
        assert info.split(None) == info.default
        assert all(source in sources.SOURCES for part in info.parts.values() for source in part)
    used = {source for name in DATASETS for part in dataset_info(name).parts.values() for source in part}
    assert used == set(sources.SOURCES)


def test_parts_that_are_not_there_are_refused_with_what_there_is(tmp_path):
    with pytest.raises(StudyError, match=r"answers are not published.*validation, train"):
        construct(tmp_path, "trivia_qa", split="test")
    with pytest.raises(StudyError, match='nq_open has no split "train"; there are: validation'):
        construct(tmp_path, "nq_open", split="train")
    with pytest.raises(StudyError, match='unknown dataset "x"'):
        construct(tmp_path, "x")
    with pytest.raises(SourceError, match="metacog doctor STUDY --fetch --source mkqa"):
        construct(tmp_path, "mkqa")


# --- from sources to items ---------------------------------------------------------------------------------------


def test_the_sample_is_built_in_four_languages_without_any_source(tmp_path):
    built = construct(tmp_path, languages=("en", "zh", "ko", "es"))
    assert built.violations == () and len(built.items) >= 300 and pipeline.needed_sources("sample") == ()
    for language in ("en", "zh", "ko", "es"):
        assert built.counts[f"questions_{language}"] == len(built.items)
        assert built.counts[f"unanswerable_{language}"] == 0


def test_questions_of_a_folder_never_go_under_the_name_of_the_published_set(tmp_path):
    folder = nq_folder(tmp_path / "mine")
    built = construct(tmp_path, "nq_open", folder=folder)
    assert {item.dataset for item in built.items} == {"nq_open-local"} and built.violations == ()
    assert pipeline.needed_sources("nq_open", folder=folder) == ()
    assert pipeline.needed_sources("nq_open") == ("nq_open",)
    before = pipeline.input_digests(Home(tmp_path), "nq_open", folder=folder)
    nq_folder(folder, 9)
    assert pipeline.input_digests(Home(tmp_path), "nq_open", folder=folder) != before


def test_a_kept_source_is_built_under_its_name(tmp_path):
    folder = nq_folder(tmp_path / "mine")
    digest = sources.read_folder("nq_open", folder).digest
    pinned = {"nq_open": replace(sources.SOURCES["nq_open"], digests={"nq_open": digest})}
    assert pipeline.input_digests(Home(tmp_path), "nq_open") == {}
    sources.fetch(Home(tmp_path), folder=folder, sources=pinned)
    built = construct(tmp_path, "nq_open", limit=3)
    assert [item.dataset for item in built.items] == ["nq_open"] * 3 and built.items[0].source == "nq_open"
    assert pipeline.input_digests(Home(tmp_path), "nq_open") == {"nq_open": digest}
    with pytest.raises(StudyError, match='nq_open has no question in "ko"'):
        construct(tmp_path, "nq_open", languages=("en", "ko"))


def test_questions_without_an_answer_are_kept_and_counted_and_repeated_ones_too():
    rows = [row(0), row(1, answers=()), row(2, text="question 0"), row(3, text="question 0")]
    items = build([Part("trivia_qa", rows, "validation")], "trivia_qa", "validation")
    assert pipeline.counted(items) == {"items": 4, "questions_en": 4, "unanswerable_en": 1, "repeated": 2}


# --- the one form on disk ----------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8"), min_size=1), st.booleans()), min_size=1))
def test_rows_come_back_from_disk_as_they_were(tmp_path_factory, made):
    rows = [
        Row(f"q{n}", {"ko": f"?{text}"}, {"ko": (f"a{text}",) * answered}, n, topic="t" * answered)
        for n, (text, answered) in enumerate(made)
    ]
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write(path, rows)
    assert read(path) == rows and digest_of(read(path)) == digest_of(rows)


@every(
    "wrong",
    [
        {"questions": {}}, {"questions": {"en": "q", "de": "f"}}, {"questions": {"en": ""}}, {"questions": ["q"]},
        {"answers": {"en": ["", "a"]}}, {"answers": {"en": "a"}}, {"answers": {"en": ["a"], "ko": ["b"]}},
        {"answers": None}, {"row": -1}, {"row": "0"}, {"row": True}, {"question_id": None}, {"topic": 3},
    ],
)  # fmt: skip
def test_a_wrong_row_of_our_own_form_is_named(wrong, tmp_path):
    good = {"question_id": "a", "questions": {"en": "q"}, "answers": {"en": ["a"]}}
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(good) + "\n" + json.dumps({**good, **wrong}) + "\n")
    with pytest.raises(SourceError, match=r"x\.jsonl:2: "):
        read(path)


def test_an_empty_file_of_rows_is_refused(tmp_path):
    (tmp_path / "x.jsonl").write_text("\n")
    with pytest.raises(MetacogError, match="no questions in it"):
        read(tmp_path / "x.jsonl")


# --- invariants --------------------------------------------------------------------------------------------------

PART = Part("fictional_qa", [row(n, event=f"event_{n // 2:03d}") for n in range(8)])


FIRST, *REST = build([PART], "fictional_qa", "train")


def test_items_as_they_were_built_break_no_rule():
    assert check([FIRST, *REST], [PART]) == [] and len(REST) == 3


@every(
    ("rule", "items"),
    [
        ("I1", [FIRST, changed(REST[0], item_id=FIRST.item_id), *REST[1:]]),
        ("I1", [FIRST, changed(FIRST, item_id="another", position=1)]),
        ("I2", [changed(FIRST, position=7), *REST]),
        ("I3", [changed(FIRST, answers=())]),
        ("I3", [changed(FIRST, questions=(("de", "q"),))]),
        ("I4", [changed(FIRST, answers=(("en", ("yes", " ")),))]),
        ("I4", [changed(FIRST, questions=(("en", " "),))]),
        ("I5", [changed(FIRST, answers=(("en", ("no",)),))]),
        ("I5", [changed(FIRST, source_row=99)]),
        ("I6", [changed(FIRST, answers=(("en", ()),))]),
        ("I7", [changed(item, split="validation") for item in (FIRST, *REST)]),
    ],
)
def test_each_broken_rule_is_found_and_named(rule, items):
    assert any(line.startswith(f"{rule} ") for line in check(items, [PART]))
