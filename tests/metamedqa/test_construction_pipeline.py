"""The stages over a home: sample, custom and published sets, and what a terminal prints of them."""

import json
import shutil
from dataclasses import replace

import pytest

from metacog_pipeline.benchmarks.metamedqa import sources
from metacog_pipeline.benchmarks.metamedqa.construction import pipeline, records, reports
from metacog_pipeline.benchmarks.metamedqa.construction.build import Options, build_items, published_layout
from metacog_pipeline.benchmarks.metamedqa.construction.edit_table import edits_from_published, infer_prefix
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import shipped
from metacog_pipeline.home import Home
from metacog_pipeline.sources import read_lines, write_rows

SAMPLE = shipped("data", "metamedqa", "sample")


@pytest.fixture
def custom(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("parent", "edits", "fictional"):
        shutil.copy(SAMPLE / f"{name}.jsonl", folder)
    return folder


def test_the_sample_needs_no_source_and_is_labelled(tmp_path):
    done = pipeline.construct(Home(tmp_path), "sample")
    assert {item.dataset for item in done.items} == {"sample"} and done.violations == ()
    assert all(item.item_id.startswith("sample-") for item in done.items)
    assert len({item.item_id for item in done.items}) == len(done.items)


def test_a_custom_set_comes_from_a_folder_and_keeps_its_ids(tmp_path, custom):
    done = pipeline.construct(Home(tmp_path), "custom", folder=custom, fictional_count=5)
    assert done.items[0].item_id == "sample-0000" and done.items[0].dataset == "custom"
    assert sum(item.kind == "Fictional" for item in done.items) == 5
    (custom / "fictional.jsonl").unlink()
    assert all(
        item.kind != "Fictional" for item in pipeline.construct(Home(tmp_path), "custom", folder=custom).items
    )
    (custom / "edits.jsonl").write_text("")
    assert pipeline.construct(Home(tmp_path), "custom", folder=custom).items[3].item_id == "custom-0003"


def test_a_large_custom_pool_gives_one_hundred_by_default(tmp_path, custom):
    row = read_lines(custom / "fictional.jsonl")[0].row
    write_rows(
        custom / "fictional.jsonl", [{**row, "question": f"What does zorb {i} do?"} for i in range(130)]
    )
    done = pipeline.construct(Home(tmp_path), "custom", folder=custom)
    assert done.manifest["counts_by_kind"]["Fictional"] == 100


def test_a_custom_set_without_its_files_says_which(tmp_path, custom):
    (custom / "parent.jsonl").unlink()
    with pytest.raises(SourceError, match=r"no parent\.jsonl"):
        pipeline.construct(Home(tmp_path), "custom", folder=custom)
    with pytest.raises(SourceError, match="needs a folder"):
        pipeline.construct(Home(tmp_path), "custom")


@pytest.mark.parametrize("dataset", ["published", "corrected"])
def test_published_sets_need_fetched_sources(tmp_path, dataset):
    with pytest.raises(SourceError, match="metacog doctor STUDY --fetch"):
        pipeline.construct(Home(tmp_path), dataset)


def test_proposed_and_rejected_records_change_nothing(tmp_path, custom):
    rows = [line.row for line in read_lines(custom / "edits.jsonl")]
    write_rows(
        custom / "edits.jsonl",
        [{**rows[0], "status": "proposed"}, {**rows[1], "status": "rejected"}, *rows[2:]],
    )
    done = pipeline.construct(Home(tmp_path), "custom", folder=custom)
    edited = {item.source_index for item in done.items if item.edit_kind is not None}
    assert edited == {row["source_index"] for row in rows[2:]}
    assert done.manifest["edit_records_by_status"] == {
        "accepted": len(rows) - 2,
        "proposed": 1,
        "rejected": 1,
    }


def test_a_modified_set_of_the_published_layout_is_rebuilt_in_its_own_order(tmp_path):
    made = pipeline.construct(Home(tmp_path), "sample")
    write_rows(tmp_path / "m.jsonl", [published_layout(item) for item in reversed(made.items)])
    parents = records.load_parents(SAMPLE / "parent.jsonl")
    table = edits_from_published(parents, records.load_choice_rows(tmp_path / "m.jsonl"), prefix="sample-")
    again = pipeline.build_items("sample", parents, pipeline.load_fictional(Home(tmp_path), "sample"), table)
    assert [published_layout(item) for item in again.items] == [
        published_layout(item) for item in reversed(made.items)
    ]
    with pytest.raises(SourceError, match="parent rows are not in it"):
        edits_from_published(parents, records.load_choice_rows(tmp_path / "m.jsonl")[40:], prefix="sample-")


def test_the_prefix_of_ids_follows_the_edit_table():
    edits = records.load_edits(SAMPLE / "edits.jsonl")
    assert infer_prefix(edits, "x-") == "sample-" and infer_prefix([], "x-") == "x-"


# --- at the terminal ---------------------------------------------------------------------------------------------


def test_build_writes_where_asked_with_a_manifest_beside(tmp_path):
    report = reports.build(tmp_path / "out.jsonl", Home(tmp_path), "sample", None, fictional_count=3)
    rows = read_lines(tmp_path / "out.jsonl")
    assert report.ok and f"{len(rows)} items (sample)" in report.lines[0]
    assert json.loads((tmp_path / "out.jsonl.manifest.json").read_text())["items"] == len(rows)


def test_check_passes_what_was_built_and_names_what_was_broken(tmp_path):
    path = tmp_path / "out.jsonl"
    reports.build(path, Home(tmp_path), "sample", None)
    parent, edits = SAMPLE / "parent.jsonl", SAMPLE / "edits.jsonl"
    assert reports.check([path]).ok
    assert reports.check([path], parent=parent, edits=edits).ok
    assert reports.check([], parent=parent, edits=edits).ok
    rows = [line.row for line in read_lines(path)]
    rows[5]["options"]["F"] = "AR"
    write_rows(path, rows)
    report = reports.check([path], parent=parent, edits=edits)
    assert not report.ok and [row["rule"] for row in report.rows] == ["O2"]
    with pytest.raises(SourceError, match="give the parent too"):
        reports.check([path], edits=edits)


def test_check_of_author_made_records_uses_the_rules_on_new_edits(tmp_path):
    edits = records.load_edits(SAMPLE / "edits.jsonl")
    first = next(e for e in edits if e.edit_kind == "answer_replaced")
    write_rows(tmp_path / "e.jsonl", [records.edit_to_json(replace(first, reason=None, auditor=None))])
    report = reports.check([], parent=SAMPLE / "parent.jsonl", edits=tmp_path / "e.jsonl")
    assert not report.ok and {row["rule"] for row in report.rows} == {"A2"}


def test_check_prints_the_papers_counts_without_failing(tmp_path):
    path = tmp_path / "out.jsonl"
    reports.build(path, Home(tmp_path), "sample", None)
    report = reports.check([path], paper_counts=True)
    assert report.ok and any("malformed_audited" in line and "DISAGREES" in line for line in report.lines)


def test_check_reads_any_multiple_choice_file(tmp_path):
    write_rows(tmp_path / "m.jsonl", [{"question": "q", "options": ["x", "X."], "answer_idx": 0}])
    report = reports.check([tmp_path / "m.jsonl"])
    assert not report.ok and "P2" in report.lines[1]
    with pytest.raises(SourceError, match=r"m\.jsonl:1: field 'options'"):
        write_rows(tmp_path / "m.jsonl", [{"question": "q"}])
        reports.check([tmp_path / "m.jsonl"])


def test_screening_a_file_lists_nominations_and_compares_with_kind_bad(tmp_path):
    reports.build(tmp_path / "out.jsonl", Home(tmp_path), "sample", None)
    report = reports.screen_file(tmp_path / "out.jsonl")
    nominated = [row for row in report.rows if row["classes"] != ["missing_laboratory"]]
    assert nominated and f"{len(nominated)} of" in report.lines[0]
    assert any("marked malformed" in line for line in report.lines)


def test_inputs_of_a_data_set_carry_its_prefix(tmp_path):
    inputs = reports.inputs_of(Home(tmp_path), "sample")
    assert inputs.prefix == "sample-" and inputs.edits
    files = reports.inputs_from_files(SAMPLE / "parent.jsonl", SAMPLE / "edits.jsonl")
    assert (list(files.parents), list(files.edits), files.prefix) == (
        inputs.parents,
        list(inputs.edits),
        "sample-",
    )


def test_kappa_of_two_files_is_printed(tmp_path):
    shutil.copy(SAMPLE / "edits.jsonl", tmp_path / "a.jsonl")
    rows = [line.row for line in read_lines(SAMPLE / "edits.jsonl")]
    write_rows(
        tmp_path / "b.jsonl", [{**row, "status": "rejected"} if i < 3 else row for i, row in enumerate(rows)]
    )
    assert (
        reports.compare_auditors(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
        .lines[0]
        .startswith("Cohen's kappa: 0.000")
    )
    assert "N/A" in reports.compare_auditors(tmp_path / "a.jsonl", tmp_path / "a.jsonl").lines[0]


def test_published_rows_without_the_six_choices_are_a_one_line_error(tmp_path):
    parents = records.load_parents(SAMPLE / "parent.jsonl")
    rows = [{"question": p.question, "options": {"A": "x", "B": "y"}, "answer_idx": "A"} for p in parents]
    write_rows(tmp_path / "m.jsonl", rows)
    with pytest.raises(SourceError, match="A, B, C and D needed"):
        edits_from_published(parents, records.load_choice_rows(tmp_path / "m.jsonl"))


def test_a_pinned_source_in_a_home_is_what_construction_reads(tmp_path, monkeypatch):
    made = build_items(records.load_parents(SAMPLE / "parent.jsonl"), [], [], Options("x", "sample-"))
    write_rows(sources.source_path(Home(tmp_path), "medqa"), [published_layout(item) for item in made])
    with pytest.raises(SourceError, match="not that of source 'medqa'"):
        pipeline.load_parent(Home(tmp_path), "published")
