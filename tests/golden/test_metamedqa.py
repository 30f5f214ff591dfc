"""Construction of MetaMedQA against the published data and a reference comparison of it."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from metacog_pipeline.benchmarks.metamedqa import construction, items, report
from metacog_pipeline.benchmarks.metamedqa.construction import edits as editing
from metacog_pipeline.benchmarks.metamedqa.construction import rules
from metacog_pipeline.files import shipped
from metacog_pipeline.home import Home
from metacog_pipeline.report import exhibits
from tests.golden.agreed import DATA, need, rows

FILES = DATA / "metamedqa"
PUBLISHED = "metamedqa_published.jsonl.gz"


def read_json(name):
    return json.loads(need(f"metamedqa/{name}").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def parents():
    return editing.load_rows(need(FILES / "medqa_usmle_4opt_test.jsonl.gz"))


@pytest.fixture(scope="module")
def published():
    return editing.load_rows(need(FILES / PUBLISHED))


@pytest.fixture(scope="module")
def fictional():
    rows = editing.load_rows(need(FILES / "glianorex_en_100.jsonl.gz"))
    return [replace(row, item_id=f"fictional-{row.place:03d}") for row in rows]


@pytest.fixture(scope="module")
def quirks():
    found = read_json("published_quirks.json")
    return tuple(editing.Quirk(each["source_index"], each["field"], each["published"]) for each in found)


@pytest.fixture(scope="module")
def anomalies():
    return [each["source_index"] for each in read_json("derived_edit_counts.json")["anomalies"]]


@pytest.fixture(scope="module")
def table(parents, published, quirks):
    return construction.edits_from_published(parents, published, quirks)


@pytest.fixture(scope="module")
def done(parents, fictional, table):
    return construction.build("published", parents, fictional, table)


def layout(item):
    return item.question, item.options, item.target, item.answer, item.meta_info, item.kind


def row_layout(row):
    return row.question, tuple(row.options.values()), row.answer_idx, row.answer, row.meta_info, row.kind


# --- the published set --------------------------------------------------------------------------------------------


def test_the_edit_table_is_derived_record_for_record(table):
    assert list(table.edits) == editing.load_edits(need("metamedqa/edits_published.jsonl.gz"))


def test_the_published_set_is_rebuilt_in_its_order_with_its_quirks(done, published):
    assert [layout(item) for item in done.items] == [row_layout(row) for row in published]
    listed = [row["item_id"] for row in rows("metamedqa/published_order.csv")]
    assert [item.item_id for item in done.items] == listed
    assert [item.position for item in done.items] == list(range(len(listed)))


def test_without_quirks_it_differs_in_their_cells_only(parents, published, fictional, table, quirks):
    made = construction.items_of("published", parents, replace(table, quirks=()), fictional)
    wrong = {i.source_index for i, r in zip(made, published, strict=True) if layout(i) != row_layout(r)}
    assert wrong == {quirk.source_index for quirk in quirks}


def test_the_shipped_quirks_are_the_reference_ones(quirks):
    own = editing.load_quirks(shipped("data", "metamedqa", "published_quirks.json"))
    assert sorted(own, key=str) == sorted(quirks, key=str)


def test_the_papers_counts_agree_and_disagree_as_the_reference_says(published):
    expected = read_json("derived_edit_counts.json")
    counted = Counter((row.kind, row.answer_idx) for row in published)
    flow = report.flow([(*cell, n) for cell, n in counted.items()])
    printed = {row["count"]: int(row["paper"]) for row in exhibits.printed("metamedqa", "figure_1")}
    assert printed == expected["paper"]
    for name, verdict in expected["paper_vs_data"].items():
        assert (printed[name] == flow[name]) == verdict.startswith("agrees"), name


def test_the_pinned_files_are_those_of_the_data_and_give_the_edits_and_the_pool(
    tmp_path, parents, fictional, table
):
    text = need(FILES / "SOURCE.md").read_text(encoding="utf-8")
    for source in items.SOURCES.values():
        commit = next(part for part in source.url.split("/") if len(part) == 40)
        if commit not in text:
            pytest.skip("the data is of another commit than the pinned one")
    fetched = items.fetch(Home(tmp_path), folder=FILES)
    assert [f.rows for f in fetched] == [n for _, n in items.CONTENTS.values()]
    files = construction.Files(Home(tmp_path), "published")
    pool = construction.load_fictional(files)
    assert [(row.item_id, row.texts()) for row in pool] == [(row.item_id, row.texts()) for row in fictional]
    assert construction.load_edit_table(files, parents) == table


# --- rules -------------------------------------------------------------------------------------------------------


def test_the_rules_fire_on_the_anomalies_and_nowhere_else(done, table, quirks, anomalies):
    rule = {"options.F": "O2", "options.E": "O2", "kind": "O7"}
    expected = [("E6", at, False) for at, action in table.notes.items() if action == "restored"]
    expected += [("extra_change", at, True) for at, action in table.notes.items() if action == "kept"]
    expected += [(rule[q.field], q.source_index, False) for q in quirks]
    assert sorted((v.rule, v.source_index, v.advisory) for v in done.violations) == sorted(expected)
    assert [*table.notes] == anomalies == sorted({v.source_index for v in done.violations})


def test_the_corrected_set_breaks_no_rule(parents, published, fictional, table, quirks, anomalies):
    corrected = construction.edits_from_published(parents, published, quirks, apply_corrections=True)
    restored = {at for at, action in table.notes.items() if action == "restored"}
    assert {e.source_index for e in table.edits} - {e.source_index for e in corrected.edits} == restored
    done = construction.build("corrected", parents, fictional, corrected)
    assert [v for v in done.violations if not v.advisory] == []
    tagged = {item.source_index: item for item in done.items if "anomaly" in item.tags}
    assert sorted(tagged) == anomalies
    for at, item in tagged.items():
        if at in restored:
            own = (item.question, item.options[:4], item.target)
            assert own == (parents[at].question, tuple(parents[at].options.values()), parents[at].answer_idx)
        else:
            assert item.target in "EF" and item.kind != "Original"


# --- screen ------------------------------------------------------------------------------------------------------


def test_the_screen_nominates_the_malformed_items_and_few_others_by_the_references_classes(parents):
    screened = {parent.place: cues for parent in parents if (cues := rules.cues(parent.question))}
    reference = {int(row["source_index"]): row for row in rows("metamedqa/malformed_reference.csv")}
    malformed = {at for at, row in reference.items() if row["published_malformed"] == "1"}
    assert len(malformed & set(screened)) >= len(malformed) * 50 / 52
    assert len(screened) <= 160 / 1273 * len(parents)
    pairs = {(at, c) for at, row in reference.items() for c in row["reference_cue_classes"].split(";") if c}
    own = {(at, name) for at, cues in screened.items() for name in cues}
    assert len(own & pairs) / len(own | pairs) > 0.75
