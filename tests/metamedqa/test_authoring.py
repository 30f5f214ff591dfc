"""New edits: drawn by rank, handed out as stubs, checked, and counted only under a person's name."""

from dataclasses import replace
from datetime import date

import pytest

from metacog_pipeline.benchmarks.metamedqa.construction import authoring, reports
from metacog_pipeline.benchmarks.metamedqa.construction.records import (
    Change,
    EditRecord,
    ParentRow,
    edit_to_json,
    option_text,
)
from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import Line, read_lines, write_rows
from tests.tables import every

TODAY = date(2026, 1, 31)
PARENTS = [
    ParentRow(
        i, f"Question {i}?", (f"one {i}", f"two {i}", f"three {i}", f"four {i}"), "B", f"two {i}", "step1"
    )
    for i in range(40)
]
INPUTS = reports.Inputs(PARENTS, [], "p-")


def proposed(index=0, after="a wrong thing", kind="answer_replaced", **changes) -> EditRecord:
    change = Change("options.B", before=f"two {index}", after=after)
    edit = EditRecord(f"p-{index:04d}", index, kind, (change,), "B", "E", reason="why", status="proposed")
    return replace(edit, **changes)


def faults(edit):
    return sorted(v.rule for v in authoring.check_record(PARENTS[0], edit) if not v.advisory)


def test_edited_proposed_and_excluded_items_are_not_drawn_again_but_rejected_ones_are():
    edits = [proposed(0), replace(proposed(1), status="accepted"), replace(proposed(2), status="rejected")]
    ids = authoring.eligible(PARENTS, edits, "p-", exclude=["p-0003"])
    assert {"p-0000", "p-0001", "p-0003"}.isdisjoint(ids) and "p-0002" in ids and len(ids) == 37


@pytest.mark.parametrize(
    ("seed", "drawn"),
    [
        (0, ["p-0004", "p-0000", "p-0032"]),
        (1, ["p-0001", "p-0028", "p-0030"]),
        (2, ["p-0004", "p-0034", "p-0022"]),
    ],
)
def test_the_sample_is_the_stored_draw(seed, drawn):
    # Stored from `printf SEED:modify:ID | sha256sum`, sorted.
    assert authoring.sample(authoring.eligible(PARENTS, [], "p-"), 3, seed) == drawn


def test_asking_for_more_than_there_is_is_an_error():
    with pytest.raises(SourceError, match="41 items asked for, 40"):
        authoring.sample(authoring.eligible(PARENTS, [], "p-"), 41)


def test_stubs_hold_the_old_texts_and_blank_new_ones():
    stub = authoring.worksheet(PARENTS, ["p-0007"], "p-")[0]
    assert {c["field"]: (c["before"], c["after"]) for c in stub["changes"]} == {
        "question": ("Question 7?", ""),
        "options.B": ("two 7", ""),
    }
    assert (stub["answer_before"], stub["edit_kind"], stub["status"]) == ("B", None, "proposed")


def test_quotas_name_the_kind_of_the_first_stubs():
    names = [f"p-{i:04d}" for i in range(5)]
    stubs = authoring.worksheet(PARENTS, names, "p-", {"answer_altered": 2, "malformed": 1})
    assert [s["edit_kind"] for s in stubs] == ["answer_altered", "answer_altered", "malformed", None, None]
    for quotas in ({"answer_altered": 6}, {"invented": 1}):
        with pytest.raises(SourceError):
            authoring.worksheet(PARENTS, names, "p-", quotas)


def test_a_filled_stub_becomes_a_record_without_its_blank_changes():
    stub = authoring.worksheet(PARENTS, ["p-0000"], "p-")[0]
    assert authoring.read_worksheet([Line("w", 1, stub)]) == ([], ["p-0000"])
    stub["changes"][1]["after"] = "a wrong thing"
    stub |= {"edit_kind": "answer_replaced", "answer_after": "E", "reason": "why"}
    filled, waiting = authoring.read_worksheet([Line("w", 1, stub)])
    assert filled == [proposed()] and waiting == []


@every(
    ("rules", "edit"),
    [
        ([], proposed()),
        (["A1", "E3", "E4", "E8"], proposed(after="two 0", answer_after="B", answer_before="B")),
        (["A1"], proposed(after="TWO 0.")),
        (["E7"], proposed(after="Three 0.")),
        (["A1", "E6"], proposed(changes=(Change("options.A", "one 0", "zero"),))),
        (["extra_change"], proposed(changes=(*proposed().changes, Change("options.A", "one 0", "zero")))),
        (["E2"], proposed(changes=(Change("options.B", "two", "zero"),))),
        (["E4"], proposed(answer_after="F")),
        (["A2"], proposed(reason=None)),
        (["A2"], proposed(created="31/01/2026")),
        (["A2"], proposed(status="accepted")),
    ],
)
def test_a_single_record_is_checked_by_every_rule(rules, edit):
    assert faults(edit) == rules


def test_the_word_overlap_only_advises():
    found = authoring.check_record(PARENTS[0], proposed(after="not two 0"))
    assert [(v.rule, v.advisory) for v in found] == [("A3", True)]


def test_accepting_writes_status_name_and_date():
    (done,) = authoring.decide(PARENTS, [proposed()], "p-0000", " Ada ", accept=True, today=TODAY)
    assert (done.status, done.auditor, done.created, done.counts) == ("accepted", "Ada", "2026-01-31", True)
    (done,) = authoring.decide(PARENTS, [proposed()], "p-0000", "Ada", accept=False, today=TODAY)
    assert (done.status, done.counts) == ("rejected", False)


@every(
    ("edits", "name", "auditor"),
    [
        ([proposed()], "p-0000", "  "),
        ([proposed()], "p-0001", "Ada"),
        ([proposed(), proposed()], "p-0000", "Ada"),
        ([proposed(after="one 0")], "p-0000", "Ada"),
        ([proposed(), proposed(status="accepted", auditor="Bo")], "p-0000", "Ada"),
    ],
)
def test_what_cannot_be_accepted_is_refused_in_one_line(edits, name, auditor):
    with pytest.raises(SourceError):
        authoring.decide(PARENTS, edits, name, auditor, accept=True, today=TODAY)


def test_a_second_auditor_must_be_another_person():
    edits = authoring.decide(PARENTS, [proposed()], "p-0000", "Ada", accept=True, today=TODAY)
    (done,) = authoring.decide(PARENTS, edits, "p-0000", "Bo", accept=True, today=TODAY, second=True)
    assert (done.auditor, done.second_auditor, done.status) == ("Ada", "Bo", "accepted")
    with pytest.raises(SourceError, match="second person"):
        authoring.decide(PARENTS, edits, "p-0000", "ada", accept=True, today=TODAY, second=True)


def test_kappa_of_two_people_over_what_both_decided():
    def decisions(text):
        states = {"a": "accepted", "r": "rejected", "-": "proposed"}
        return [proposed(i, status=states[c]) for i, c in enumerate(text)]

    # Observed agreement 6/8, chance 1/2 for both: kappa = (0.75 - 0.5) / 0.5.
    assert authoring.agreement(decisions("aaaarrrr-"), decisions("aaarrrraa")).value == pytest.approx(0.5)
    assert authoring.agreement(decisions("aa"), decisions("aa")).value is None
    assert authoring.agreement(decisions("-"), decisions("a")).n == 0


def test_kappa_leaves_out_what_the_second_person_has_not_judged():
    first = [proposed(i, status=s, auditor="Ada") for i, s in enumerate(("accepted", "accepted", "rejected"))]
    second = [
        replace(first[0], second_auditor="Bo"),
        replace(first[1], second_auditor="Bo", status="rejected"),
        first[2],
    ]
    assert authoring.agreement(first, second).n == 2
    assert authoring.agreement(first, [replace(edit, auditor="Bo") for edit in first]).n == 3
    assert authoring.agreement(first, first).n == 3


def test_a_rejected_record_may_be_wrong(tmp_path):
    parent, edits = tmp_path / "parent.jsonl", tmp_path / "edits.jsonl"
    rows = [
        {
            "question": p.question,
            "options": dict(zip("ABCD", p.options, strict=True)),
            "answer_idx": p.answer_idx,
        }
        for p in INPUTS.parents
    ]
    write_rows(parent, rows)
    for status, fine in (("rejected", True), ("proposed", False)):
        write_rows(edits, [edit_to_json(proposed(0, status=status, reason=""))])
        assert reports.check([], parent=parent, edits=edits).ok == fine


def test_from_sample_to_acceptance_through_files(tmp_path):
    sheet = tmp_path / "sheet.jsonl"
    report = reports.sample(INPUTS, sheet, seed=1, k=4)
    assert report.ok and len(read_lines(sheet)) == 4
    with pytest.raises(SourceError, match="exists already"):
        reports.sample(INPUTS, sheet, seed=1, k=4)
    stubs = [line.row for line in read_lines(sheet)]
    for stub in stubs[:2]:
        keyed = f"options.{stub['answer_before']}"
        for change in stub["changes"]:
            if change["field"] == keyed:
                change["after"] = f"something else {stub['source_index']}"
        stub |= {"edit_kind": "answer_replaced", "answer_after": "E", "reason": "no longer there"}
    write_rows(sheet, stubs)
    assert reports.check_worksheet(INPUTS, sheet).ok
    names = [stub["item_id"] for stub in stubs]
    before = sheet.read_bytes()
    with pytest.raises(SourceError, match="not filled in"):
        reports.decide(INPUTS, sheet, [names[0], names[2]], "Ada", accept=True, today=TODAY)
    assert sheet.read_bytes() == before
    reports.decide(INPUTS, sheet, names[:1], "Ada", accept=True, today=TODAY)
    reports.decide(INPUTS, sheet, names[1:2], "Ada", accept=False, today=TODAY)
    edits, waiting = authoring.read_worksheet(read_lines(sheet))
    assert sorted(e.status or "" for e in edits) == ["accepted", "rejected"] and sorted(waiting) == sorted(
        names[2:]
    )


def test_a_worksheet_with_a_fault_fails_its_check(tmp_path):
    path = tmp_path / "w.jsonl"
    write_rows(path, authoring.worksheet(PARENTS, ["p-0000"], "p-"))
    assert reports.check_worksheet(INPUTS, path).ok
    row = read_lines(path)[0].row
    row["changes"][1]["after"] = option_text(PARENTS[0], "A")
    row |= {"edit_kind": "answer_replaced", "answer_after": "E", "reason": "why"}
    write_rows(path, [row])
    report = reports.check_worksheet(INPUTS, path)
    assert not report.ok and "E7" in report.lines[1]
