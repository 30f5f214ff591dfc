"""Construction of MetaMedQA against the published data and a reference comparison of it."""

import gzip
import hashlib
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
from metacog_pipeline.sources import content_digest, read_lines
from tests.golden.agreed import DATA, need, rows

FILES = DATA / "metamedqa"


def read_json(name):
    return json.loads(need(f"metamedqa/{name}").read_text(encoding="utf-8"))


def need_published(name):
    """Skip unless the data file is, byte for byte, the published one whose digest stands beside it."""
    path = need(FILES / name)
    with gzip.open(path, "rb") as stream:
        digest = hashlib.sha256(stream.read()).hexdigest()
    if digest not in need(FILES / "SOURCE.md").read_text(encoding="utf-8"):
        pytest.skip(f"{path} is not the published file that SOURCE.md describes")


@pytest.fixture
def any_size(monkeypatch, parents):
    """Take the number of parent rows from the fixture: a smaller set is as good a test."""
    monkeypatch.setattr(rules, "MEDQA_ROWS", len(parents))


@pytest.fixture(scope="module")
def parents():
    return editing.load_rows(need(FILES / "medqa_usmle_4opt_test.jsonl.gz"))


@pytest.fixture(scope="module")
def published():
    return editing.load_rows(need(FILES / "metamedqa_published.jsonl.gz"))


@pytest.fixture(scope="module")
def fictional():
    rows = editing.load_rows(need(FILES / "glianorex_en_100.jsonl.gz"))
    return [replace(row, item_id=f"fictional-{row.place:03d}") for row in rows]


@pytest.fixture(scope="module")
def edits():
    return editing.load_edits(need("metamedqa/edits_published.jsonl.gz"))


@pytest.fixture(scope="module")
def quirks():
    rows = read_json("published_quirks.json")
    return tuple(editing.Quirk(r["source_index"], r["field"], r["standard"], r["published"]) for r in rows)


@pytest.fixture(scope="module")
def order():
    return [row["item_id"] for row in rows("metamedqa/published_order.csv")]


@pytest.fixture(scope="module")
def derivation(parents, published):
    return editing.derive(parents, published)


@pytest.fixture(scope="module")
def screened(parents):
    return {parent.place: cues for parent in parents if (cues := rules.cues(parent.question))}


def layout(item):
    return item.question, item.options, item.target, item.options["ABCDEF".index(item.target)], item.meta_info


def row_layout(row):
    return row.question, tuple(row.options.values()), row.answer_idx, row.answer, row.meta_info


def built_of(parents, edits, fictional, quirks, order):
    table = construction.EditTable(edits, quirks=quirks)
    made = construction.items_of("published", parents, table, fictional)
    place = {name: number for number, name in enumerate(order)}
    assert place.keys() == {item.item_id for item in made}
    return sorted(made, key=lambda item: place[item.item_id])


# --- the published set, from its parts ---------------------------------------------------------------------------


def test_the_published_set_is_rebuilt_with_its_quirks(parents, published, fictional, edits, quirks, order):
    built = built_of(parents, edits, fictional, quirks, order)
    assert [layout(item) for item in built] == [row_layout(row) for row in published]
    assert [item.kind for item in built] == [row.kind for row in published]


def test_without_quirks_it_differs_in_their_cells_only(parents, published, fictional, edits, quirks, order):
    built = built_of(parents, edits, fictional, (), order)
    differing = [i for i, r in zip(built, published, strict=True) if layout(i) != row_layout(r)]
    assert {i.source_index for i in differing} == {q.source_index for q in quirks if q.field != "kind"}
    kinds = [i for i, r in zip(built, published, strict=True) if i.kind != r.kind]
    assert {i.source_index for i in kinds} == {q.source_index for q in quirks if q.field == "kind"}


def test_the_shipped_quirks_are_the_reference_ones(quirks):
    need_published("metamedqa_published.jsonl.gz")
    own = editing.load_quirks(shipped("data", "metamedqa", "published_quirks.json"))
    assert sorted(own, key=str) == sorted(quirks, key=str)


@pytest.mark.usefixtures("any_size")
def test_the_published_order_is_derived(parents, published, fictional, order, quirks):
    table = construction.edits_from_published(parents, published, quirks)
    done = construction.build("published", parents, fictional, table)
    assert [item.item_id for item in done.items] == order
    assert [item.position for item in done.items] == list(range(len(order)))
    assert [layout(item) for item in done.items] == [row_layout(row) for row in published]


def test_a_pool_taken_from_the_published_file_is_the_reference_pool(published, fictional):
    rows = [line.row for line in read_lines(need(FILES / "metamedqa_published.jsonl.gz"))]
    pool = [line.row for line in read_lines(need(FILES / "glianorex_en_100.jsonl.gz"))]
    assert content_digest(items.fictional_rows(rows)) == content_digest(pool)
    assert len(fictional) == sum(row.kind == "Fictional" for row in published)


def test_the_listed_order_says_what_the_rows_are(published):
    listed = rows("metamedqa/published_order.csv")
    assert [int(row["published_position"]) for row in listed] == list(range(len(published)))
    kinds = [(row["published_kind"], row["answer_idx"]) for row in listed]
    assert kinds == [(row.kind, row.answer_idx) for row in published]
    numbered = [row for row in listed if row["source_index"]]
    assert all(row["item_id"].endswith(f"{int(row['source_index']):04d}") for row in numbered)


def test_the_quirk_cells_are_where_they_are_said_to_be(published):
    for cell in read_json("published_quirks.json"):
        row = published[cell["published_position"]]
        found = row.kind if cell["field"] == "kind" else row.options[cell["field"][-1]]
        assert found == cell["published"] != cell["standard"]


# --- the edit table, from the two sets ---------------------------------------------------------------------------


def test_the_edit_table_is_derived_record_for_record(derivation):
    path = need("metamedqa/edits_published.jsonl.gz")
    assert list(derivation.edits) == editing.load_edits(path)


def test_it_is_derived_from_shuffled_unlabelled_rows_too(parents, published, edits):
    bare = [replace(row, place=i, kind=None) for i, row in enumerate(reversed(published))]
    found = {edit.source_index: edit for edit in editing.derive(parents, bare).edits}
    assert sorted(found) == [edit.source_index for edit in edits]
    for edit in edits:
        other = found[edit.source_index]
        assert (other.changes, other.answer_before, other.answer_after) == (
            edit.changes, edit.answer_before, edit.answer_after,
        )  # fmt: skip
        if edit.edit_kind in ("malformed", "question_altered"):
            assert other.edit_kind == edit.edit_kind


def test_every_count_of_the_comparison_agrees(parents, published, derivation):
    expected = read_json("derived_edit_counts.json")
    counts = editing.derivation_counts(parents, published, derivation)
    assert counts == {name: expected[name] for name in counts}
    assert set(expected) - set(counts) == {"paper", "paper_vs_data", "anomalies"}


def test_every_doubtful_match_would_be_reported(derivation):
    doubtful = {m.position for m in derivation.matches if m.score < 60 or m.score - m.runner_up < 10}
    assert {int(report.split(":")[0].removeprefix("row ")) for report in derivation.reports} == doubtful


def test_the_papers_counts_agree_and_disagree_as_the_reference_says(published):
    expected = read_json("derived_edit_counts.json")
    counted = Counter((row.kind, row.answer_idx) for row in published)
    flow = report.flow([(*cell, n) for cell, n in counted.items()])
    printed = {row["count"]: int(row["paper"]) for row in exhibits.printed("metamedqa", "figure_1")}
    assert printed == expected["paper"]
    for name, verdict in expected["paper_vs_data"].items():
        assert (printed[name] == flow[name]) == verdict.startswith("agrees"), name


def test_the_anomalies_are_found_by_rule(parents, derivation, quirks):
    expected = read_json("derived_edit_counts.json")["anomalies"]
    notes = construction.corrections(parents, derivation.edits, quirks, editing.PARENT_PREFIX)
    assert [*notes] == [a["source_index"] for a in expected]
    assert [editing.item_id(editing.PARENT_PREFIX, at) for at in notes] == [a["item_id"] for a in expected]
    position = {match.source_index: match.position for match in derivation.matches}
    assert [position[at] for at in notes] == [a["published_position"] for a in expected]


# --- rules -------------------------------------------------------------------------------------------------------


def test_the_rules_fire_on_the_anomalies_and_nowhere_else(parents, published, derivation, quirks):
    origin = {match.position: match.source_index for match in derivation.matches}
    found = [
        *rules.check_parent(parents, len(parents)),
        *rules.check_edits(parents, derivation.edits),
        *rules.check_output(published, origin, parents, derivation.edits),
    ]
    notes = construction.corrections(parents, derivation.edits, quirks, editing.PARENT_PREFIX)
    rule = {"options.F": "O2", "options.E": "O2", "kind": "O7"}
    expected = [("E6", at, False) for at, action in notes.items() if action == "restored"]
    expected += [("extra_change", at, True) for at, action in notes.items() if action == "kept"]
    expected += [(rule[q.field], q.source_index, False) for q in quirks]
    assert sorted((v.rule, v.source_index, v.advisory) for v in found) == sorted(expected)
    anomalies = read_json("derived_edit_counts.json")["anomalies"]
    assert {v.source_index for v in found} == {a["source_index"] for a in anomalies}


@pytest.mark.usefixtures("any_size")
def test_the_corrected_set_breaks_no_rule(parents, published, fictional, quirks):
    table = construction.edits_from_published(parents, published, quirks, apply_corrections=True)
    done = construction.build("corrected", parents, fictional, table)
    assert [v for v in done.violations if not v.advisory] == []
    tagged = {item.source_index: item for item in done.items if "anomaly" in item.tags}
    anomalies = read_json("derived_edit_counts.json")["anomalies"]
    assert sorted(tagged) == [a["source_index"] for a in anomalies]
    for at, action in table.notes.items():
        parent, item = parents[at], tagged[at]
        if action == "restored":
            own = (item.question, item.options[:4], item.target)
            assert own == (parent.question, tuple(parent.options.values()), parent.answer_idx)
        else:
            assert item.target in "EF" and item.kind != "Original"


def test_dropping_the_corrected_items_leaves_the_other_records(parents, published, edits, quirks):
    table = construction.edits_from_published(parents, published, quirks, apply_corrections=True)
    dropped = {edit.source_index for edit in edits} - {edit.source_index for edit in table.edits}
    assert dropped == {at for at, action in table.notes.items() if action == "restored"}


# --- screen and draw ---------------------------------------------------------------------------------------------


def test_the_screen_nominates_the_malformed_items_and_few_others(screened, parents):
    reference = rows("metamedqa/malformed_reference.csv")
    malformed = {int(row["source_index"]) for row in reference if row["published_malformed"] == "1"}
    assert malformed == {int(row["source_index"]) for row in reference if row["published_kind"] == "Bad"}
    assert len(malformed & set(screened)) >= len(malformed) * 50 / 52
    assert len(screened) <= 160 / 1273 * len(parents)


def test_the_screens_classes_overlap_with_the_references(screened, record_property):
    reference = {
        int(r["source_index"]): set(r["reference_cue_classes"].split(";"))
        for r in rows("metamedqa/malformed_reference.csv")
    }
    pairs = {(i, c) for i, classes in reference.items() for c in classes if c}
    own = {(i, c) for i, cues in screened.items() for c in cues}
    assert {c for _, c in own} <= set(rules.CUE_CLASSES) and {c for _, c in pairs} <= set(rules.CUE_CLASSES)
    for name in rules.CUE_CLASSES:
        both = sum(c == name for _, c in own & pairs)
        record_property(name, f"{both} of {sum(c == name for _, c in pairs)}")
    assert len(own & pairs) / len(own | pairs) > 0.75


def test_the_draw_does_not_depend_on_items_not_drawn(parents, edits):
    edited = {edit.item_id for edit in edits}
    ids = [name for p in parents if (name := editing.item_id(editing.PARENT_PREFIX, p.place)) not in edited]
    size = min(125, len(ids) - 1)
    for seed in (0, 1, 2):
        drawn = construction.draw(parents, edits, size, seed)
        ranked = sorted(ids, key=lambda name: hashlib.sha256(f"{seed}:modify:{name}".encode()).hexdigest())
        assert drawn == ranked[:size]
        undrawn = ranked[size]
        assert construction.draw(parents, edits, size, seed, exclude=[undrawn]) == drawn


# --- fetching ----------------------------------------------------------------------------------------------------


def test_the_pinned_digests_are_those_of_the_data(tmp_path):
    text = need(FILES / "SOURCE.md").read_text(encoding="utf-8")
    for name in ("medqa_usmle_4opt_test.jsonl.gz", "metamedqa_published.jsonl.gz"):
        need_published(name)
    for source in items.SOURCES.values():
        commit = next(part for part in source.url.split("/") if len(part) == 40)
        if commit not in text:
            pytest.skip("the data is of another commit than the pinned one")
    fetched = items.fetch(Home(tmp_path), folder=FILES)
    assert [f.rows for f in fetched] == [n for _, n in items.CONTENTS.values()]
    done = construction.construct(construction.Files(Home(tmp_path), "published"))
    published = editing.load_rows(need(FILES / "metamedqa_published.jsonl.gz"))
    assert [layout(item) for item in done.items] == [row_layout(row) for row in published]
