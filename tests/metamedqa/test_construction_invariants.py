"""Each rule fires on the fault it names, alone, and on nothing else."""

from dataclasses import replace

import pytest

from metacog_pipeline.benchmarks.metamedqa.construction.anomalies import (
    corrected_edits,
    corrections,
    item_tags,
)
from metacog_pipeline.benchmarks.metamedqa.construction.build import Options, build_items, item_to_row
from metacog_pipeline.benchmarks.metamedqa.construction.invariants import check_edits, check_parent
from metacog_pipeline.benchmarks.metamedqa.construction.output_rules import (
    OutputRow,
    check_choice_rows,
    check_output,
)
from metacog_pipeline.benchmarks.metamedqa.construction.records import (
    Change,
    ChoiceRow,
    EditRecord,
    FictionalRow,
    ParentRow,
    Quirk,
)
from metacog_pipeline.benchmarks.metamedqa.items import CANNOT_ANSWER, NONE_OF_THE_ABOVE
from tests.tables import every

PARENTS = [
    ParentRow(0, "Which planet is largest?", ("Jupiter", "Mars", "Venus", "Earth"), "A", "Jupiter", "step1"),
    ParentRow(1, "Which metal is liquid?", ("Iron", "Mercury", "Gold", "Lead"), "B", "Mercury", "step1"),
    ParentRow(2, "Which gas is in the picture?", ("Neon", "Argon", "Xenon", "Radon"), "C", "Xenon", "step1"),
    ParentRow(3, "How many legs has an ant?", ("Two", "Four", "Six", "Eight"), "C", "Six", "step2&3"),
]
METALS = PARENTS[1].options
REPLACED = EditRecord("p-0000", 0, "answer_replaced", (Change("options.A", "Jupiter", "Pluto"),), "A", "E")
ALTERED = EditRecord(
    "p-0003", 3, "question_altered", (Change("question", PARENTS[3].question, "How many?"),), "C", "F"
)
MALFORMED = EditRecord("p-0002", 2, "malformed", (), "C", "F")
EDITS = [REPLACED, MALFORMED, ALTERED]
FICTIONAL = [FictionalRow(0, "f-000", "What does the zorb do?", ("Hum", "Spin", "Glow", "Rest"), "en")]


def rules(violations, advisory=False):
    found = [(v.rule, v.source_index) for v in violations if v.advisory is advisory]
    return sorted(found, key=lambda pair: (pair[0], -1 if pair[1] is None else pair[1]))


def rows(edits=EDITS, parents=PARENTS):
    items = build_items(parents, edits, FICTIONAL, Options("test", "p-"))
    return [OutputRow(item_to_row(item), item.item_id, item.source_index) for item in items]


def with_row(place, **changes):
    return [replace(r, row=replace(r.row, **changes)) if i == place else r for i, r in enumerate(rows())]


def checked(output, edits=EDITS):
    return rules(check_output(output, PARENTS, edits, len(FICTIONAL), "p-"))


def test_a_sound_set_breaks_no_rule():
    assert (
        check_parent(PARENTS, 4, "p-") == []
        and check_edits(PARENTS, EDITS, "p-") == []
        and checked(rows()) == []
    )


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("P2", {"options": ("Jupiter", "jupiter. ", "Venus", "Earth")}),
        ("P2", {"options": ("Jupiter", " ", "Venus", "Earth")}),
        ("P3", {"answer": "Mars"}),
        ("P4", {"question": "WHICH metal is  liquid?"}),
    ],
)
def test_rules_on_the_parent(rule, change):
    parents = [replace(PARENTS[0], **change), *PARENTS[1:]]
    assert {v.rule for v in check_parent(parents, 4, "p-")} == {rule}


def test_the_number_of_rows_is_asked_only_where_it_is_known():
    assert (
        rules(check_parent(PARENTS, 1273, "p-")) == [("P1", None)] and check_parent(PARENTS, None, "p-") == []
    )


@every(
    ("rule", "edit"),
    [
        ("E1", replace(REPLACED, item_id="p-0009")),
        ("E1", replace(REPLACED, item_id="p-0099", source_index=99)),
        ("E2", replace(REPLACED, changes=(Change("options.A", "jupiter", "Pluto"),))),
        ("E2", replace(REPLACED, changes=(Change("options.A", find="u", replace="o", count=2),))),
        ("E2", replace(MALFORMED, answer_before="A")),
        (
            "E3",
            replace(
                REPLACED,
                changes=(*REPLACED.changes, Change("question", PARENTS[0].question, PARENTS[0].question)),
            ),
        ),
        ("E3", replace(REPLACED, changes=(Change("options.A", "Jupiter", " "),))),
        ("E4", replace(REPLACED, answer_after="F")),
        ("E4", replace(REPLACED, answer_after="B")),
        ("E4", replace(MALFORMED, answer_after="E")),
        ("E5", replace(ALTERED, changes=())),
        ("E5", replace(MALFORMED, changes=(Change("options.A", "Neon", "Krypton"),))),
        ("E6", replace(REPLACED, changes=(Change("options.B", "Mars", "Pluto"),))),
        ("E7", replace(REPLACED, changes=(Change("options.A", "Jupiter", "MARS."),))),
        ("E7", replace(REPLACED, changes=(Change("options.A", "Jupiter", "none of the above"),))),
        ("E8", EditRecord("p-0001", 1, "question_altered", (), "B", "B")),
    ],
)
def test_rules_on_edits(rule, edit):
    assert rule in {v.rule for v in check_edits(PARENTS, [edit], "p-") if not v.advisory}


def test_two_records_of_one_item_break_e1_unless_one_was_rejected():
    assert rules(check_edits(PARENTS, [REPLACED, REPLACED], "p-")) == [("E1", 0)]
    assert check_edits(PARENTS, [REPLACED, replace(REPLACED, status="rejected")], "p-") == []


def test_a_change_beside_the_keyed_choice_is_only_noted():
    extra = replace(REPLACED, changes=(*REPLACED.changes, Change("options.B", "Mars", "Ceres")))
    found = check_edits(PARENTS, [extra], "p-")
    assert rules(found) == [] and rules(found, advisory=True) == [("extra_change", 0)]


@every(
    ("expected", "place", "change"),
    [
        (
            [("O1", 1)],
            1,
            {"letters": tuple("ABCDFE"), "options": (*METALS, CANNOT_ANSWER, NONE_OF_THE_ABOVE)},
        ),
        ([("O2", 1)], 1, {"options": (*METALS, NONE_OF_THE_ABOVE, "AR")}),
        ([("O3", 1)], 1, {"answer": "Gold"}),
        ([("O6", 1)], 1, {"question": "Which metal is liquid"}),
        ([("O7", 1)], 1, {"kind": "Bad"}),
        ([("O7", 1)], 1, {"kind": "Invented"}),
        ([("E8", 1), ("O3", 1)], 1, {"answer_idx": "C"}),
        ([("E8", 1), ("O3", 1), ("O4", None), ("O7", 1)], 1, {"answer_idx": "E"}),
        ([("O5", 1), ("O6", 1)], 1, {"question": "Which planet is largest?"}),
    ],
)
def test_rules_on_the_finished_set(expected, place, change):
    assert checked(with_row(place, **change)) == expected


def test_a_missing_row_breaks_the_counts():
    assert ("O4", 1) in checked([row for row in rows() if row.source_index != 1])


def test_an_edit_that_was_not_applied_is_seen_in_text_and_key():
    assert {rule for rule, _ in checked(rows(edits=[MALFORMED, ALTERED]))} >= {"O4", "O6", "E8"}


def test_any_multiple_choice_file_is_checked_by_the_rules_that_fit():
    plain = [
        ChoiceRow(0, "q1", ("A", "B", "C"), ("x", "y", "X"), "A", "x"),
        ChoiceRow(1, "Q1", ("A", "B"), ("x", "y"), "A", "y"),
        ChoiceRow(2, "q3", ("A", "C"), ("x", "")),
    ]
    assert sorted(v.rule for v in check_choice_rows(plain)) == ["P2", "P2", "P2", "P3", "P4"]
    assert check_choice_rows([row.row for row in rows()]) == []
    assert [v.rule for v in check_choice_rows([r.row for r in with_row(1, kind="Bad")])] == ["O7"]
    assert check_choice_rows([]) == []


def test_the_corrected_set_restores_keeps_or_repairs_by_rule():
    misses = replace(REPLACED, changes=(Change("options.B", "Mars", "Pluto"),))
    extra = EditRecord(
        "p-0001",
        1,
        "answer_replaced",
        (Change("options.B", "Mercury", "Tin"), Change("options.A", "Iron", "Zinc")),
        "B",
        "E",
    )
    notes = corrections([misses, extra, MALFORMED], [Quirk(2, "options.F", "x", "AR")], "p-")
    assert [(n.item_id, n.action) for n in notes] == [
        ("p-0000", "restored"),
        ("p-0001", "kept"),
        ("p-0002", "repaired"),
    ]
    kept = corrected_edits([misses, extra, MALFORMED], notes)
    assert kept == (extra, MALFORMED)
    items = build_items(PARENTS, kept, [], Options("corrected", "p-"))
    assert (items[0].target, items[0].kind, items[0].options[:4]) == ("A", "Original", PARENTS[0].options)
    tags = item_tags(items, PARENTS, notes)
    assert tags == {"p-0000": ("anomaly", "restored"), "p-0001": ("anomaly",), "p-0002": ("anomaly",)}


def test_media_that_are_absent_are_tagged_only_where_the_key_was_kept():
    unedited = build_items(PARENTS, [], [], Options("test", "p-"))
    assert item_tags(unedited, PARENTS, []) == {"p-0002": ("media_absent_but_answerable",)}
    assert item_tags(build_items(PARENTS, EDITS, [], Options("test", "p-")), PARENTS, []) == {}
