"""The audit: blinded, balanced, repeatable samples; figures from labels; files as spreadsheets leave them."""

import polars as pl
import pytest

from metacog_pipeline.benchmarks.metacogbench.audit import KEY_COLUMNS, draw, figures, for_raters, key_table
from metacog_pipeline.benchmarks.metacogbench.items import TIERS
from metacog_pipeline.errors import StudyError
from metacog_pipeline.stats.estimate import Estimate

STUDY = """
[study]
name = "audited"
seed = 1
runs = 1
home = "home"

[[models]]
name = "alpha"
provider = "simulated"

[benchmarks.metacogbench]
enabled = true
"""
HOSTILE = '=HYPERLINK("http://127.0.0.1","x")'


def key_of(verdicts: dict[str, str]) -> list[dict[str, str]]:
    same = {"tier": "2a", "model": "m", "condition": "free", "stratum_size": "1"}
    return [{"sample_id": name, "verdict": said, **same} for name, said in verdicts.items()]


def labels(said: dict[str, str], **others: dict[str, str]) -> list[dict[str, str]]:
    return [
        {"sample_id": name, "label": label, **{f"label_{k}": v[name] for k, v in others.items()}}
        for name, label in said.items()
    ]


def measured(said: dict[str, str], verdicts: dict[str, str]) -> dict[str, Estimate]:
    return {each.measure: each.found for each in figures(labels(said), key_of(verdicts))}


def test_rare_verdicts_are_drawn_as_often_as_common_ones(make_observed):
    frame = make_observed(rates={"2a": 0.8, "2b": 0.5}, sizes=dict.fromkeys(TIERS, 60))
    sample = draw(frame, 20, seed=1)
    assert sample.height == 20 and not sample["item_id"].is_duplicated().any()
    sizes = sample.group_by("tier", "verdict").len()
    assert sizes.height == 4 and set(sizes["len"]) == {5}
    assert set(sample["tier"]) == {"2a", "2b"}


def test_the_same_seed_draws_the_same_sample_and_another_another(make_observed):
    frame = make_observed(sizes=dict.fromkeys(TIERS, 40))
    once, again = draw(frame, 10, seed=1), draw(frame.sample(fraction=1, shuffle=True, seed=9), 10, seed=1)
    assert once["item_id"].to_list() == again["item_id"].to_list()
    assert once["item_id"].to_list() != draw(frame, 10, seed=2)["item_id"].to_list()


def test_a_sample_larger_than_what_there_is_takes_everything_once(make_observed):
    sample = draw(make_observed(), 1000, seed=1)
    assert sample.height == 20


def test_raters_see_neither_model_nor_verdict(make_observed):
    sample = draw(make_observed("secret-model"), 10, seed=1)
    shown = str(for_raters(sample, {}))
    assert "secret-model" not in shown and "'pass'" not in shown and "'fail'" not in shown
    assert "secret-model" in str(key_table(sample, 1).rows())


def test_figures_are_those_of_the_four_cells():
    verdicts = {"S1": "pass", "S2": "pass", "S3": "pass", "S4": "fail", "S5": "fail", "S6": "fail"}
    said = {"S1": "yes", "S2": "Yes ", "S3": "0", "S4": "no", "S5": "PASS", "S6": ""}
    found = measured(said, verdicts)
    assert found["precision"].value == pytest.approx(2 / 3)
    assert found["recall"].value == pytest.approx(2 / 3)
    assert found["accuracy"].value == pytest.approx(3 / 5)
    assert found["false_positive_rate"].value == pytest.approx(1 / 2)
    assert found["kappa"].value == pytest.approx((0.6 - 0.52) / (1 - 0.52))
    low, high = found["precision"].low, found["precision"].high
    assert low is not None and high is not None and low < 2 / 3 < high


def test_93_negatives_without_an_error_keep_false_positives_below_4_percent():
    names = [f"S{i}" for i in range(94)]
    verdicts = dict.fromkeys(names, "fail") | {"S0": "pass"}
    said = dict.fromkeys(names, "no") | {"S0": "yes"}
    found = measured(said, verdicts)
    high = found["false_positive_rate"].high
    assert high is not None and high < 0.04


def test_agreement_of_one_category_has_no_kappa_but_ac1():
    found = measured({"S1": "yes", "S2": "yes"}, {"S1": "pass", "S2": "pass"})
    assert found["kappa"].value is None and found["ac1"].value == 1.0


def test_two_raters_are_compared():
    said = {"S1": "yes", "S2": "no", "S3": "yes"}
    other = {"S1": "yes", "S2": "no", "S3": ""}
    rows = labels(said, ann=said, bob=other)
    found = {each.measure: each.found for each in figures(rows, key_of(dict.fromkeys(said, "pass")))}
    assert found["kappa label_ann label_bob"].value == 1.0 and found["kappa label_ann label_bob"].n == 2


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"S1": "maybe"}, "neither yes nor no"),
        ({"S1": ""}, "no labels"),
        ({"S9": "yes"}, "not in the key"),
    ],
)
def test_labels_that_cannot_be_used_are_named(said, message):
    with pytest.raises(StudyError, match=message):
        figures(labels(said), key_of({"S1": "pass"}))


def test_judges_are_held_against_the_labels_like_the_scorers(make_observed):
    sample = draw(make_observed(tiers=("2a",)), 10, 1, ("2a",))
    said = sample.with_columns(judge=pl.lit("self"), verdict=pl.col("passed")).head(8)
    truth = key_table(sample, 1, said.select("model", "run", "condition", "item_id", "judge", "verdict"))
    assert truth.columns[-1] == "judge:self" and truth["judge:self"].null_count() == 2
    rows = [{name: str(value or "") for name, value in row.items()} for row in truth.iter_rows(named=True)]
    given = [
        {"sample_id": row["sample_id"], "label": "yes" if row["verdict"] == "pass" else "no"} for row in rows
    ]
    found = {each.measure: each.found for each in figures(given, rows)}
    assert found["accuracy judge self"].value == 1.0 and found["accuracy judge self"].n == 8
    assert found["kappa judge self"].value == 1.0
    unjudged = [{name: row[name] for name in KEY_COLUMNS} for row in rows]
    assert not any("judge" in each.measure for each in figures(given, unjudged))
    assert key_table(sample, 1).columns == list(KEY_COLUMNS)
