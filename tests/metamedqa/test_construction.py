"""From parent rows, edit records and fictional questions to the items: exact, ordered, every rule named."""

import gzip
import json
import random
import shutil
from dataclasses import replace

import pytest

from metacog_pipeline.benchmark.item import drawn, seeded_sample
from metacog_pipeline.benchmarks.metamedqa import construction
from metacog_pipeline.benchmarks.metamedqa.construction import edits as editing
from metacog_pipeline.benchmarks.metamedqa.construction import rules
from metacog_pipeline.benchmarks.metamedqa.construction.edits import Change, EditRecord, Quirk, Row
from metacog_pipeline.benchmarks.metamedqa.items import CANNOT_ANSWER, NONE_OF_THE_ABOVE
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import shipped
from metacog_pipeline.home import Home
from metacog_pipeline.sources import Line, read_lines, write_rows
from tests.tables import every

SAMPLE = shipped("data", "metamedqa", "sample")


def row(place, question, texts, key, **more):
    return Row(place, question, dict(zip("ABCDEF", texts, strict=False)), key, **more)


PARENTS = [
    row(0, "Which planet is largest?", ("Jupiter", "Mars", "Venus", "Earth"), "A", answer="Jupiter"),
    row(1, "Which metal is liquid?", ("Iron", "Mercury", "Gold", "Lead"), "B", answer="Mercury"),
    row(2, "Which gas is in the picture?", ("Neon", "Argon", "Xenon", "Radon"), "C", answer="Xenon"),
    row(3, "How many legs has an ant?", ("Two", "Four", "Six", "Eight"), "C", answer="Six"),
]
REPLACED = EditRecord("p-0000", 0, "answer_replaced", (Change("options.A", "Jupiter", "Pluto"),), "A", "E")
QUESTION = Change("question", PARENTS[3].question, "How many?")
ALTERED = EditRecord("p-0003", 3, "question_altered", (QUESTION,), "C", "F")
MALFORMED = EditRecord("p-0002", 2, "malformed", (), "C", "F")
EDITS = [REPLACED, MALFORMED, ALTERED]
FICTIONAL = [
    row(0, "What does the zorb do?", ("Hum", "Spin", "Glow", "Rest"), "B", item_id="f-0", language="en")
]
PARENT = {"question": "Which?", "options": dict(zip("ABCD", "wxyz", strict=True)), "answer_idx": "A"}
EDIT = {
    "item_id": "x-0003", "source_index": 3, "edit_kind": "answer_altered", "answer_before": "A", "answer_after": "E",
    "changes": [{"field": "options.A", "before": "Oxygen", "after": "Ozone"}],
}  # fmt: skip


# --- records ----------------------------------------------------------------------------------------------------------
def test_plain_and_gzip_files_read_alike(tmp_path):
    text = json.dumps({**PARENT, "question": "one\u2028two"}, ensure_ascii=False) + "\n\n"
    (tmp_path / "p.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "p.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    (read,) = editing.load_rows(tmp_path / "p.jsonl")
    assert read.question == "one\u2028two" and [read] == editing.load_rows(tmp_path / "p.jsonl.gz")


@every(
    ("change", "says"),
    [
        ({"question": None}, "field 'question'"),
        ({"options": "x"}, "field 'options'"),
        ({"options": {"A": 1}}, "field 'options.A"),
        ({"options": {"A": "x"}}, "field 'options'"),
        ({"answer_idx": "Z"}, "field 'answer_idx'"),
        ({"realidx": 5}, "field 'realidx' is 5 but this is row 0"),
        ({"question": "\ud800"}, "field 'question' must be a valid string"),
    ],
)
def test_a_bad_field_of_a_row_is_named_with_file_and_line(change, says):
    with pytest.raises(SourceError) as caught:
        editing.parse_row(Line("p.jsonl", 2, {**PARENT, **change}), 0)
    assert says in str(caught.value) and "p.jsonl:2" in str(caught.value) and "\n" not in str(caught.value)


@every(
    ("change", "says"),
    [
        ({"edit_kind": "invented"}, "field 'edit_kind' must be .* got 'invented'"),
        ({"changes": [{"field": "question", "find": "x"}]}, "'before' and 'after', or 'find' and 'replace'"),
    ],
)
def test_a_bad_field_of_an_edit_is_named_with_file_and_line(change, says, tmp_path):
    write_rows(tmp_path / "e.jsonl", [EDIT, {**EDIT, **change}])
    with pytest.raises(SourceError, match=f"e.jsonl:2: .*{says}"):
        editing.load_edits(tmp_path / "e.jsonl")


# --- edits ------------------------------------------------------------------------------------------------------------
def test_a_change_replaces_exactly_the_named_field_and_changes_apply_in_their_order():
    steps = (Change("options.A", "Jupiter", "2"), Change("options.A", "2", "II"))
    texts = editing.apply_edit(PARENTS[0], replace(REPLACED, changes=steps))
    assert texts == {**PARENTS[0].texts(), "options.A": "II"}


def test_before_that_does_not_match_names_id_field_and_both_texts():
    long = "word " * 300
    parent = replace(PARENTS[0], question=long + "end!")
    wrong = replace(REPLACED, changes=(Change("question", long + "end?", "x"),))
    with pytest.raises(SourceError, match=r"p-0000: question: .*end\?.*end!") as caught:
        editing.apply_edit(parent, wrong)
    assert len(str(caught.value)) < 700


def test_find_must_occur_exactly_count_times():
    parent = replace(PARENTS[0], question="Pulse 80, pulse 80. Why?")
    for count in (1, 2, 3):
        edit = replace(
            REPLACED, changes=(Change("question", find="ulse 80", replace="ulse 90", count=count),)
        )
        if count == 2:
            assert editing.apply_edit(parent, edit)["question"] == "Pulse 90, pulse 90. Why?"
        else:
            with pytest.raises(SourceError, match="occurs 2 times"):
                editing.apply_edit(parent, edit)


ACCEPTED = {"status": "accepted", "auditor": "Ada", "reason": "why", "created": "2026-01-31"}


# --- rules ------------------------------------------------------------------------------------------------------------
def broken(found, advisory=False):
    return [(v.rule, v.source_index) for v in found if v.advisory is advisory]


def test_a_sound_set_breaks_no_rule():
    items = construction.items_of("sample", PARENTS, construction.EditTable(EDITS, "p-"), FICTIONAL)
    assert rules.check_parent(PARENTS, "p-") == rules.check_edits(PARENTS, EDITS, "p-") == []
    assert rules.check_items(items) == []


@every(
    ("rule", "change"),
    [
        ("P2", {"options": dict(zip("ABCD", ("Jupiter", "jupiter. ", "Venus", "Earth"), strict=True))}),
        ("P2", {"options": dict(zip("ABCD", ("Jupiter", " ", "Venus", "Earth"), strict=True))}),
        ("P2", {"options": {"A": "Jupiter", "B": "Mars"}}),
        ("P3", {"answer": "Mars"}),
        ("P3", {"answer_idx": None}),
        ("P4", {"question": "WHICH metal is  liquid?"}),
    ],
)
def test_rules_on_the_parent(rule, change):
    parents = [replace(PARENTS[0], **change), *PARENTS[1:]]
    assert {v.rule for v in rules.check_parent(parents, "p-")} == {rule}


SAME = Change("question", PARENTS[0].question, PARENTS[0].question)


@every(
    ("rule", "edit"),
    [
        ("E1", replace(REPLACED, item_id="p-0009")),
        ("E1", replace(REPLACED, item_id="p-0099", source_index=99)),
        ("E2", replace(REPLACED, changes=(Change("options.A", "jupiter", "Pluto"),))),
        ("E2", replace(REPLACED, changes=(Change("options.A", find="u", replace="o", count=2),))),
        ("E2", replace(MALFORMED, answer_before="A")),
        ("E3", replace(REPLACED, changes=(*REPLACED.changes, SAME))),
        ("E3", replace(REPLACED, changes=(Change("options.A", "Jupiter", " "),))),
        ("E4", replace(REPLACED, answer_after="F")),
        ("E4", replace(MALFORMED, answer_after="E")),
        ("E5", replace(ALTERED, changes=())),
        ("E5", replace(MALFORMED, changes=(Change("options.A", "Neon", "Krypton"),))),
        ("E6", replace(REPLACED, changes=(Change("options.B", "Mars", "Pluto"),))),
        ("E7", replace(REPLACED, changes=(Change("options.A", "Jupiter", "MARS."),))),
        ("E7", replace(REPLACED, changes=(Change("options.A", "Jupiter", "none of the above"),))),
        ("E8", EditRecord("p-0001", 1, "question_altered", (), "B", "B")),
        ("A1", replace(REPLACED, status="proposed", changes=(Change("options.A", "Jupiter", "JUPITER."),))),
        *(("A2", replace(REPLACED, **{**ACCEPTED, name: " "})) for name in ("auditor", "reason", "created")),
    ],
)
def test_rules_on_edits(rule, edit):
    assert rule in {v.rule for v in rules.check_edits(PARENTS, [edit], "p-") if not v.advisory}
    assert rules.check_edits(PARENTS, [replace(edit, status="rejected")], "p-") == []


def test_two_records_of_one_item_break_e1_and_a_further_change_is_noted():
    assert broken(rules.check_edits(PARENTS, [REPLACED, REPLACED], "p-")) == [("E1", 0)]
    extra = replace(REPLACED, changes=(*REPLACED.changes, Change("options.B", "Mars", "Ceres")))
    found = rules.check_edits(PARENTS, [extra], "p-")
    assert broken(found) == [] and broken(found, advisory=True) == [("extra_change", 0)]


@every(
    ("rule", "change"),
    [
        ("O2", {"options": (*"abcd", NONE_OF_THE_ABOVE, "AR")}),
        ("O5", {"question": "WHICH planet is largest?"}),
        ("O7", {"kind": "Bad"}),
        ("O7", {"target": "E"}),
    ],
)
def test_rules_on_the_finished_set(rule, change):
    items = construction.items_of("sample", PARENTS, construction.EditTable(EDITS, "p-"), [])
    items[1] = items[1].model_copy(update=change)
    assert broken(rules.check_items(items)) == [(rule, 1)]


def test_the_corrected_set_restores_keeps_or_repairs_by_rule():
    misses = replace(REPLACED, changes=(Change("options.B", "Mars", "Pluto"),))
    more = (Change("options.B", "Mercury", "Tin"), Change("options.A", "Iron", "Zinc"))
    extra = EditRecord("p-0001", 1, "answer_replaced", more, "B", "E")
    notes = construction.corrections(PARENTS, [misses, extra, MALFORMED], [Quirk(2, "options.F", "AR")], "p-")
    assert notes == {0: "restored", 1: "kept", 2: "repaired"}
    table = construction.EditTable([extra, MALFORMED], "p-", notes)
    items = construction.items_of("corrected", PARENTS, table, [])
    assert (items[0].target, items[0].kind) == ("A", "Original")
    assert [item.tags for item in items] == [("anomaly", "restored"), ("anomaly",), ("anomaly",), ()]


# --- comparing two sets -----------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    files = construction.Files(Home(tmp_path_factory.mktemp("home")), "sample")
    parents = construction.load_parent(files)
    return parents, construction.load_fictional(files), construction.load_edit_table(files, parents)


@pytest.fixture(scope="module")
def modified(sample):
    """The built sample as rows of a published file, in another order."""
    items = construction.build("sample", *sample).items
    return [
        Row(n, i.question, dict(zip("ABCDEF", i.options, strict=True)), i.target, kind=i.kind)
        for n, i in enumerate(random.Random(1).sample(items, len(items)))
    ]


def test_a_published_set_in_any_order_gives_back_its_edits_and_is_rebuilt(sample, modified):
    parents, fictional, table = sample
    derived = construction.edits_from_published(parents, modified, prefix="sample-")

    def outcomes(edits):
        return [
            (e.item_id, e.edit_kind, e.answer_after, editing.apply_edit(parents[e.source_index], e))
            for e in edits
        ]

    assert outcomes(derived.edits) == outcomes(e for e in table.edits if e.counts)
    again = construction.build("sample", parents, fictional, derived)
    assert [item.question for item in again.items] == [each.question for each in modified]


def test_a_published_set_that_lacks_a_parent_row_is_refused(sample, modified):
    with pytest.raises(SourceError, match=r"are not the .* parent rows, each once"):
        construction.edits_from_published(sample[0], modified[40:], prefix="sample-")


@pytest.mark.parametrize(("a", "b"), [("↑ TSH", "↓ TSH"), ("+2", "-2"), ("a.b", "ab"), ("IL-4", "IL 4")])
def test_folding_keeps_arrows_signs_and_inner_punctuation(a, b):
    assert editing.fold(a) != editing.fold(b) and editing.fold(f"  {a.upper()}.\n") == editing.fold(a)


# --- items ------------------------------------------------------------------------------------------------------------
def test_every_item_offers_the_two_standard_choices_and_fictional_ones_keep_the_pools_key(sample):
    done = construction.build("sample", *sample)
    for item in done.items:
        assert item.options[4:] == (NONE_OF_THE_ABOVE, CANNOT_ANSWER) and item.dataset == "sample"
        if item.kind == "Fictional":
            assert item.target == "F" and item.source_target in "ABCD" and item.source_index is None
    indices = [item.source_index for item in done.items]
    fictional = len(indices) - len(sample[0])
    assert indices == [*range(len(sample[0])), *[None] * fictional] and not done.violations
    assert [item.position for item in done.items] == [*range(len(indices))]


def test_quirk_cells_are_set(sample):
    parents, _, table = sample
    index = next(e.source_index for e in table.edits if e.edit_kind == "answer_replaced")
    quirks = (Quirk(index, "options.F", "AR"), Quirk(index, "kind", "Original"))
    items = construction.items_of("sample", parents, replace(table, quirks=quirks), [])
    assert (items[index].options[5], items[index].kind, items[index].target) == ("AR", "Original", "E")
    assert broken(rules.check_items(items)) == [("O2", index), ("O7", index)]


def test_a_broken_rule_stops_the_build_in_one_line(sample):
    parents, fictional, table = sample
    doubled = [*parents, replace(parents[0], place=len(parents))]
    for wrong in (doubled, [replace(parents[0], options={"A": "x"}), *parents[1:]]):
        with pytest.raises(SourceError, match="broken rule") as caught:
            construction.build("sample", wrong, fictional, table)
        assert "\n" not in str(caught.value)


def test_a_limit_keeps_order_and_positions_and_grows_by_adding(sample):
    items = construction.build("sample", *sample).items
    ten, twenty = drawn(items, 10, 0, "limit"), drawn(items, 20, 0, "limit")
    assert len(ten) == 10 and set(ten) < set(twenty) < set(items)
    assert [i.position for i in ten] == sorted(i.position for i in ten)
    assert drawn(items, None, 0, "limit") == list(items)


def test_draws_are_those_stored():
    # Stored from `printf SEED:modify:ID | sha256sum`, sorted, not from this code.
    for seed, ids in ((0, "17 01 07 02 03"), (1, "14 12 02 08 00"), (2, "17 14 13 19 16")):
        found = seeded_sample([f"item-{i:02d}" for i in range(20)], 5, seed, "modify")
        assert found == [f"item-{each}" for each in ids.split()]


def test_fictional_rows_are_drawn_by_language_in_pool_order():
    pool = [replace(FICTIONAL[0], place=i, item_id=f"f-{i:03d}") for i in range(130)]
    mixed = [*pool, *[replace(each, item_id=f"fr-{each.place}", language="fr") for each in pool[:5]]]
    chosen = construction.select_fictional("custom", mixed, 1)
    assert len(chosen) == 100 and [each.place for each in chosen] == sorted(each.place for each in chosen)
    assert construction.select_fictional("sample", mixed, 1) == pool
    assert construction.select_fictional("custom", mixed, 2) != chosen


# --- files of a data set ----------------------------------------------------------------------------------------------
@pytest.fixture
def custom(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("parent", "edits", "fictional"):
        shutil.copy(SAMPLE / f"{name}.jsonl", folder)
    return construction.Files(Home(tmp_path), "custom", folder)


def test_a_custom_set_comes_from_a_folder_and_keeps_its_ids(custom):
    done = construction.construct(custom)
    assert done.items[0].item_id == "sample-0000" and done.items[0].dataset == "custom"
    fictional = custom.folder / "fictional.jsonl"
    first = read_lines(fictional)[0].row
    write_rows(fictional, [{**first, "question": f"What does zorb {i} do?"} for i in range(130)])
    assert sum(item.kind == "Fictional" for item in construction.construct(custom).items) == 100
    fictional.unlink()
    (custom.folder / "edits.jsonl").write_text("")
    done = construction.construct(custom)
    assert {item.kind for item in done.items} == {"Original"} and done.items[3].item_id == "custom-0003"


def test_proposed_and_rejected_records_change_nothing(custom):
    lines = [line.row for line in read_lines(custom.folder / "edits.jsonl")]
    stated = [{**lines[0], "status": "proposed"}, {**lines[1], "status": "rejected"}, *lines[2:]]
    write_rows(custom.folder / "edits.jsonl", stated)
    done = construction.construct(custom)
    edited = {item.source_index for item in done.items if item.edit_kind is not None}
    assert edited == {each["source_index"] for each in lines[2:]}


@every(
    ("wrong", "says"),
    [
        ({"item_id": "sample-0999"}, "E1"),
        ({"answer_before": "A", "answer_after": "A"}, "E[24]"),
        ({"status": "accepted", "auditor": " "}, "A2.*accepted without auditor"),
    ],
)
def test_a_record_that_breaks_a_rule_stops_the_build(wrong, says, custom):
    lines = [line.row for line in read_lines(SAMPLE / "edits.jsonl")]
    write_rows(custom.folder / "edits.jsonl", [{**lines[0], **wrong}, *lines[1:]])
    with pytest.raises(SourceError, match=rf"broken rule.*{says}"):
        construction.construct(custom)


def test_files_that_are_not_there_are_named(tmp_path, custom):
    (custom.folder / "parent.jsonl").unlink()
    with pytest.raises(SourceError, match=r"no parent\.jsonl"):
        construction.construct(custom)
    for dataset in ("published", "corrected"):
        with pytest.raises(SourceError, match="metacog doctor STUDY --fetch"):
            construction.construct(construction.Files(Home(tmp_path), dataset))
