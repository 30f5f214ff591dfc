"""Parent + edits + fictional -> items: pure, ordered, validated, written whole."""

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.metamedqa.construction import build, pipeline
from metacog_pipeline.benchmarks.metamedqa.construction.pipeline import select_fictional
from metacog_pipeline.benchmarks.metamedqa.construction.records import FictionalRow, Quirk, load_quirks
from metacog_pipeline.benchmarks.metamedqa.items import CANNOT_ANSWER, NONE_OF_THE_ABOVE
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import shipped
from metacog_pipeline.home import Home


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("home"))
    parents = pipeline.load_parent(home, "sample")
    return (
        parents,
        pipeline.load_fictional(home, "sample"),
        pipeline.load_or_derive_edits(home, "sample", parents),
    )


def pool(n, language="en"):
    return [
        FictionalRow(i, f"f-{i:03d}", f"question {i}", ("a", "b", "c", "d"), language, "me", "C")
        for i in range(n)
    ]


def test_every_item_offers_the_two_standard_choices_and_fictional_ones_keep_the_pools_key(parts):
    done = pipeline.build_items("sample", *parts)
    for item in done.items:
        assert item.options[4:] == (NONE_OF_THE_ABOVE, CANNOT_ANSWER)
        if item.kind == "Fictional":
            assert item.target == "F" and item.source_target in "ABCD" and item.source_index is None
    assert [item.position for item in done.items] == list(range(len(done.items)))


def test_the_default_order_is_the_parents_then_the_fictional_rows(parts):
    items = pipeline.build_items("sample", *parts).items
    indices = [item.source_index for item in items]
    known = [index for index in indices if index is not None]
    assert known == list(range(len(parts[0]))) and indices[len(known) :] == [None] * (len(items) - len(known))


def test_the_order_wanted_is_kept_and_anything_else_refused(parts):
    parents, fictional, table = parts
    options = build.Options("sample", table.prefix)
    names = [item.item_id for item in build.build_items(parents, table.edits, fictional, options)]
    mixed = random.Random(3).sample(names, len(names))
    assert [i.item_id for i in build.build_items(parents, table.edits, fictional, options, mixed)] == mixed
    for wrong in (mixed[1:], [*mixed, mixed[0]], [*mixed[1:], "nobody"]):
        with pytest.raises(SourceError, match="order"):
            build.build_items(parents, table.edits, fictional, options, wrong)
    with pytest.raises(SourceError, match="published"):
        pipeline.build_items("sample", *parts, order="published")


def test_building_twice_gives_the_same(parts):
    first, second = (pipeline.build_items("sample", *parts, seed=5, fictional_count=7) for _ in "ab")
    assert [build.published_layout(item) for item in first.items] == [
        build.published_layout(item) for item in second.items
    ]
    assert json.dumps(first.manifest, sort_keys=True) == json.dumps(second.manifest, sort_keys=True)


def test_counts_of_the_manifest_add_up(parts):
    facts = pipeline.build_items("sample", *parts, fictional_count=10).manifest
    assert facts["items"] == sum(facts["counts_by_kind"].values()) == sum(facts["counts_by_key"].values())
    assert facts["counts_by_kind"]["Fictional"] == 10
    assert facts["items"] == len(parts[0]) + 10


def test_quirk_cells_are_set_and_must_find_the_standard_text(parts):
    parents, _, table = parts
    index = next(e.source_index for e in table.edits if e.edit_kind == "answer_replaced")
    quirk = Quirk(index, "options.F", CANNOT_ANSWER, "AR")
    kind = Quirk(index, "kind", "Answer removed", "Original")
    items = build.build_items(
        parents, table.edits, [], build.Options("sample", table.prefix, quirks=(quirk, kind))
    )
    assert (items[index].options[5], items[index].kind, items[index].target) == ("AR", "Original", "E")
    assert items[index + 1].options[5] == CANNOT_ANSWER
    with pytest.raises(SourceError, match="quirk"):
        build.build_items(
            parents,
            table.edits,
            [],
            build.Options("sample", table.prefix, quirks=(replace(quirk, standard="other"),)),
        )


def test_the_shipped_quirks_are_two_cells_of_one_item():
    quirks = load_quirks(shipped("data", "metamedqa", "published_quirks.json"))
    assert {q.field for q in quirks} == {"options.F", "kind"} and len({q.source_index for q in quirks}) == 1


def test_an_edit_whose_before_does_not_match_stops_the_build(parts):
    parents, fictional, table = parts
    touched = next(e.source_index for e in table.edits if any(c.field == "options.A" for c in e.changes))
    options = ("something else", *parents[touched].options[1:])
    changed = [replace(p, options=options) if p.source_index == touched else p for p in parents]
    with pytest.raises(SourceError, match=rf"sample-{touched:04d}: options\.A"):
        pipeline.build_items("sample", changed, fictional, table)


def test_a_broken_rule_stops_the_build_in_one_line(parts):
    parents, fictional, table = parts
    doubled = [*parents, replace(parents[0], source_index=len(parents))]
    with pytest.raises(SourceError, match="broken rule"):
        pipeline.build_items("sample", doubled, fictional, table)


def test_a_limit_keeps_order_and_positions_and_grows_by_adding(parts):
    items = pipeline.build_items("sample", *parts).items
    ten, twenty = build.limit_items(items, 10, 0), build.limit_items(items, 20, 0)
    assert len(ten) == 10 and set(ten) < set(twenty) < set(items)
    assert [i.position for i in ten] == sorted(i.position for i in ten)
    assert build.limit_items(items, None, 0) == list(items)


@pytest.mark.parametrize(
    ("seed", "drawn"),
    [
        (0, ["item-17", "item-01", "item-07", "item-02", "item-03"]),
        (1, ["item-14", "item-12", "item-02", "item-08", "item-00"]),
        (2, ["item-17", "item-14", "item-13", "item-19", "item-16"]),
    ],
)
def test_draws_are_those_stored(seed, drawn):
    # Stored from `printf SEED:modify:ID | sha256sum`, sorted, not from this code.
    assert seeded_sample([f"item-{i:02d}" for i in range(20)], 5, seed, "modify") == drawn


@settings(max_examples=100)
@given(
    st.sets(st.text(max_size=6), min_size=2, max_size=30), st.integers(0, 20), st.integers(0, 5), st.data()
)
def test_removing_an_undrawn_id_or_shuffling_leaves_the_draw_unchanged(ids, k, seed, data):
    drawn = seeded_sample(ids, k, seed, "modify")
    assert len(drawn) == min(k, len(ids)) == len(set(drawn))
    rest = sorted(ids - set(drawn))
    if rest:
        gone = data.draw(st.sampled_from(rest))
        assert seeded_sample(sorted(ids - {gone}, reverse=True), k, seed, "modify") == drawn


def test_fictional_rows_are_drawn_by_language_in_pool_order():
    mixed = [*pool(30), *[replace(r, item_id=f"fr-{r.index}", language="fr") for r in pool(5)]]
    chosen = select_fictional("sample", mixed, 10, 1)
    assert len(chosen) == 10 and all(row.language == "en" for row in chosen)
    assert [row.index for row in chosen] == sorted(row.index for row in chosen)
    assert select_fictional("sample", mixed, None, 1) == mixed[:30]
    assert [r.item_id for r in select_fictional("sample", mixed, 10, 2)] != [r.item_id for r in chosen]
    with pytest.raises(SourceError, match="31 questions asked for, 30"):
        select_fictional("sample", mixed, 31, 1)


def test_ids_of_the_pool_may_not_repeat():
    with pytest.raises(SourceError, match="twice"):
        select_fictional("sample", [*pool(2), *pool(1)], 2, 0)


def test_a_repeated_id_is_told_with_how_often_it_is_used(parts):
    rows = pool(4)
    same = [*rows[:2], *(replace(row, item_id="f-000") for row in rows[2:])]
    with pytest.raises(SourceError, match="'f-000' is used 3 times"):
        build.build_items(parts[0], (), same)
