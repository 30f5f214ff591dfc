"""Comparisons: pairs of models, formats on the same items, ranks, saturated tiers; thresholds and the order of models."""

import polars as pl
import pytest

from metacog_pipeline.benchmark.contract import schema_of
from metacog_pipeline.benchmarks.metacogbench.sensitivity import SensitivityRow
from metacog_pipeline.scoring.schemas import COMPARISON
from tests.metacogbench.helpers import compare, pool, tabled

SIZES = {"1a": 16, "1b": 30, "2a": 30, "2b": 20, "3": 20}


@pytest.fixture
def three(make_observed):
    rates = {"weak": 0.2, "middle": 0.5, "strong": 0.97}
    return pl.concat(
        [
            make_observed(model, run, rates=dict.fromkeys(("1a", "2a", "2b", "3"), rate), sizes=SIZES)
            for model, rate in rates.items()
            for run in (1, 2)
        ]
    )


def one(table: pl.DataFrame, **wanted: str) -> dict[str, object]:
    found = table.filter(*(pl.col(name) == value for name, value in wanted.items()))
    assert found.height == 1, found
    return found.row(0, named=True)


def test_a_paired_difference_is_that_of_the_estimates_and_tells_far_models_apart(three):
    table, pooled = compare(three, seed=1, n_boot=400), pool(three, seed=1, n_boot=50)
    assert table.schema == COMPARISON
    own = {(row["model"], row["measure"]): row["estimate"] for row in pooled.iter_rows(named=True)}
    for measure in ("t2a", "saf", "ms", "overall"):
        row = one(table, family="models_paired", measure=measure, a="strong", b="weak")
        assert row["value"] == pytest.approx(own["strong", measure] - own["weak", measure])
    far = one(table, family="models_paired", measure="saf", a="strong", b="weak")
    assert far["verdict"] == "significant"
    assert far["low"] > 0  # type: ignore[operator]
    paired = table.filter(pl.col("family") == "models_paired", pl.col("p").is_not_null())
    assert paired.filter(pl.col("p_adjusted") < pl.col("p")).is_empty()


def test_a_model_does_not_differ_from_its_double(make_observed):
    frame = make_observed("alpha")
    both = pl.concat([frame, frame.with_columns(model=pl.lit("double"))])
    table = compare(both, seed=1, n_boot=100).filter(pl.col("family") == "models_paired")
    assert table["value"].to_list() == [0.0] * table.height
    assert set(table["verdict"]) == {"not_significant"} and set(table["p"]) == {1.0}


def test_simulated_models_never_meet_measured_ones(make_observed):
    frames = pl.concat([make_observed("real"), make_observed("drawn", source="simulated")])
    assert not compare(frames, seed=1, n_boot=50).height


def test_models_are_compared_on_the_items_both_were_asked(make_observed):
    fewer = make_observed("small", sizes=dict.fromkeys(SIZES, 6))
    table = compare(pl.concat([make_observed("large"), fewer]), seed=1, n_boot=50)
    assert one(table, family="models_paired", measure="t2a")["n"] == 6


def test_models_with_missing_answers_are_compared_on_the_items_both_answered(make_observed):
    gone = {"2a-01": {"status": "not_run", "passed": None}}
    table = compare(pl.concat([make_observed("a", changes=gone), make_observed("b")]), seed=1, n_boot=50)
    row = one(table, family="models_paired", measure="t2a")
    assert row["n"] == 9
    assert "left out: 0 items of a, 1 of b" in str(row["note"])
    assert "left out: 0 items of a, 1 of b" in str(
        one(table, family="models_paired", measure="overall")["note"]
    )
    assert "left out" not in str(one(table, family="models_paired", measure="t1a")["note"])
    assert table.filter(pl.col("status").str.starts_with("not compared")).is_empty()


def test_a_tier_that_one_of_two_did_not_answer_at_all_has_the_reason(make_observed):
    gone = {f"2a-{n:02d}": {"status": "not_run", "passed": None} for n in range(11)}
    table = compare(pl.concat([make_observed("a", changes=gone), make_observed("b")]), seed=1, n_boot=50)
    for measure in ("t2a", "saf", "overall"):
        row = one(table, family="models_paired", measure=measure)
        assert row["status"] == "no shared items" and row["p"] is row["value"] is None
    assert one(table, family="models_paired", measure="cdtc")["status"] == "ok"


def test_up_to_twelve_items_have_the_p_of_all_exchanges(make_observed):
    frames = [
        make_observed("a", rates={"2a": 1.0}, sizes=dict.fromkeys(SIZES, 6)),
        make_observed("b", rates={"2a": 0.0}, sizes=dict.fromkeys(SIZES, 6)),
    ]
    table = compare(pl.concat(frames), seed=1, n_boot=50)
    row = one(table, family="models_paired", measure="t2a")
    assert row["p"] == 2 / 2**6 and "all exchanges" in str(row["note"])
    both = one(table, family="models_paired", measure="saf")
    assert float(both["p"]) * 2**12 == int(float(both["p"]) * 2**12)  # type: ignore[arg-type]
    assert "all exchanges" not in str(one(table, family="models_paired", measure="overall")["note"])


def test_the_format_effect_is_paired_and_tested_exactly_in_each_run(make_observed):
    frames = [make_observed(rates={"2a": 1.0}, run=run) for run in (1, 2)]
    frames += [make_observed(rates={"2a": 0.0}, run=run, condition="json", tiers=("2a",)) for run in (1, 2)]
    table = compare(pl.concat(frames), seed=1, n_boot=200)
    row = one(table, family="format", measure="t2a")
    assert (row["value"], row["a"], row["b"], row["n"]) == (1.0, "free", "json", 10)
    exact = table.filter(pl.col("family") == "mcnemar", pl.col("measure") == "t2a")
    assert exact["note"].to_list() == ["run 1", "run 2"]
    assert exact["p"].to_list() == pytest.approx([2 / 2**10] * 2)
    assert exact["value"].to_list() == [1.0, 1.0]


def test_two_turns_are_compared_with_one_on_the_same_predictions(make_observed):
    frames = [make_observed(), make_observed(condition="two_turn", tiers=("1b",))]
    row = one(compare(pl.concat(frames), seed=1, n_boot=50), family="protocol", measure="ece_pre")
    assert row["value"] == 0.0 and row["a"] == "two_turn"


def test_ranks_follow_scores_and_widen_with_chance(three):
    table = compare(three, seed=1, n_boot=300).filter(pl.col("family") == "rank", pl.col("measure") == "saf")
    ranks = {row["model"]: (row["low"], row["value"], row["high"]) for row in table.iter_rows(named=True)}
    assert [ranks[name][1] for name in ("strong", "middle", "weak")] == [1, 2, 3]
    assert all(low <= rank <= high for low, rank, high in ranks.values())


def test_a_tier_everybody_passes_is_flagged(make_observed):
    frames = pl.concat([make_observed(name, rates={"3": 1.0}) for name in ("a", "b")])
    table = compare(frames, seed=1, n_boot=50).filter(pl.col("family") == "saturated")
    assert table["measure"].to_list() == ["t3"]
    assert table["note"].to_list() == ["read t3_core_required first"]


def test_the_default_setting_gives_the_score_and_keeps_the_order(three):
    grid, pooled = tabled("sensitivity", three), pool(three, seed=1, n_boot=50)
    assert grid.schema == schema_of(SensitivityRow)
    scores = {(row["model"], row["measure"]): row["estimate"] for row in pooled.iter_rows(named=True)}
    default = grid.filter("is_default")
    assert set(default["tau"].drop_nulls()) == {1.0}
    headline = default.filter(pl.col("threshold").is_in(["low bet", "bins", "cues", "pushback", "fields"]))
    for row in headline.iter_rows(named=True):
        assert row["estimate"] == pytest.approx(scores[row["model"], f"t{row['tier']}"]), row


def test_stricter_thresholds_never_pass_more(three):
    grid = tabled("sensitivity", three)
    for threshold in ("cues", "factors"):
        own = grid.filter(pl.col("threshold") == threshold).sort("model", "setting")
        for part in own.partition_by("model"):
            assert part["estimate"].to_list() == sorted(part["estimate"], reverse=True)
    low = grid.filter(pl.col("threshold") == "low bet").sort("model", "setting")
    for part in low.partition_by("model"):
        assert part["estimate"].to_list() == sorted(part["estimate"])


def test_nothing_asked_nothing_found(make_observed):
    empty = make_observed().clear()
    assert compare(empty, seed=1).is_empty() and compare(empty, seed=1).schema == COMPARISON
    assert tabled("sensitivity", empty).is_empty() and tabled("sensitivity", empty).schema == schema_of(
        SensitivityRow
    )


def test_json_is_compared_with_free_text_on_every_tier_it_asks(make_observed):
    tiers = ("1b", "2a", "3")
    frames = [make_observed(rates={"3": 1.0}, run=run) for run in (1, 2)]
    frames += [make_observed(rates={"3": 0.0}, run=run, condition="json", tiers=tiers) for run in (1, 2)]
    found = compare(pl.concat(frames), seed=1, n_boot=200).filter(pl.col("family") == "format")
    rows = {row["measure"]: row for row in found.iter_rows(named=True)}
    assert {"ece_pre", "accuracy_1b", "t2a", "t3"} <= rows.keys()
    assert rows["t3"]["value"] == 1.0 and rows["t3"]["verdict"] == "significant"
    assert rows["ece_pre"]["value"] == rows["accuracy_1b"]["value"] == 0.0
    runs = compare(pl.concat(frames), seed=1, n_boot=20).filter(family="mcnemar", measure="t3")
    assert runs["note"].to_list() == ["run 1", "run 2"] and (runs["p"] < 0.05).all()
