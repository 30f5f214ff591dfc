"""One primary test for each question, one family for each test with its size in the row, a verdict where there is a p."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from metacog_pipeline import registry
from metacog_pipeline.benchmark.contract import Comparison, Contrast, Question
from metacog_pipeline.scoring import comparisons as comparing
from metacog_pipeline.scoring.comparisons import as_table, comparisons, judged, without_few
from metacog_pipeline.scoring.schemas import HARMONISED
from metacog_pipeline.stats import exact
from metacog_pipeline.stats.multiple import bonferroni, holm
from tests.tables import every

ASKED = (Question("Which?", ("pairs", "accuracy"), ("mcnemar",)),)


def row(measure: str = "accuracy", p: float | None = 0.5, n: int = 20, **more: Any) -> Comparison:
    return Comparison(more.pop("family", "pairs"), measure, dataset="d", source="measured", p=p, n=n, **more)


def made(rows: list[Comparison], *, questions: tuple[Question, ...] = ASKED, **contrast: Any) -> pl.DataFrame:
    declared = Contrast("pairs", lambda benchmark, groups: rows, **contrast)
    stub: Any = SimpleNamespace(name="toy", measures=(), contrasts=(declared,), questions=questions)
    return comparisons(stub, ())


def test_every_row_of_a_family_has_its_size():
    rows = [row(p=p) for p in (0.01, 0.02, None)] + [row("ece", 0.03)]
    found = made(rows)
    assert found["n_tests"].to_list() == [2, 2, 2, 1]  # what has no p is no test, and belongs to the family
    assert found["p_adjusted"].to_list() == [0.02, 0.02, None, 0.03]
    assert found["verdict"].to_list() == ["significant", "significant", None, "significant"]


def test_families_are_apart_where_the_contrast_says():
    rows = [row(p=0.03, condition=name) for name in ("a", "a", "b")] + [row(p=0.03)]
    found = made(rows, within=("family", "measure", "condition"))
    assert found["n_tests"].to_list() == [2, 2, 1, 1]
    assert found["verdict"].to_list() == ["not_significant"] * 2 + ["significant"] * 2


@pytest.mark.parametrize(("correction", "single"), [("holm", holm), ("bonferroni", bonferroni)])
def test_families_corrected_together_have_the_numbers_of_each_alone(correction, single):
    rng = np.random.default_rng(3)
    names = [None, "a", "b", "c"]
    rows = [
        row(
            p=None if rng.random() < 0.2 else float(rng.choice([0.0, 1.0, 0.02, rng.random() / 9])),
            condition=names[k],
        )
        for k in rng.integers(0, 4, 400)
    ]
    found = made(rows, correction=correction, within=("family", "condition"))
    for name in names:
        own = found.filter(pl.col("condition").eq_missing(pl.lit(name, pl.String)))
        assert own["p_adjusted"].to_list() == list(single(own["p"].to_list())), name


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_p_that_is_none_fails_its_family_with_the_reason(wrong):
    declared = Contrast("pairs", lambda *_: [row(p=wrong)])
    with pytest.raises(ValueError, match=r"outside 0\.\.1"):
        judged(declared, as_table(SimpleNamespace(name="toy"), [row(p=wrong)]))


def test_a_p_that_nobody_corrected_is_corrected_and_has_a_verdict():
    rows = [row(p=p) for p in (0.03, 0.04, 0.001)]
    found = made(rows, correction=None)
    assert found["p_adjusted"].to_list() == list(holm([0.03, 0.04, 0.001]))
    assert found["verdict"].to_list() == ["not_significant", "not_significant", "significant"]


def test_a_correction_and_a_verdict_of_its_own_stay():
    rows = [
        row(p=0.01, p_adjusted=0.2, family="tukey"), row(p=0.01, p_adjusted=0.04, family="tukey"),
        row(p=0.01, p_adjusted=0.04, verdict="negligible", family="z"),
    ]  # fmt: skip
    found = made(rows, correction=None)
    assert found["p_adjusted"].to_list() == [0.2, 0.04, 0.04]
    assert found["verdict"].to_list() == ["not_significant", "significant", "negligible"]
    assert found["n_tests"].to_list() == [2, 2, 1]


def test_posteriors_are_counted_and_labels_are_no_tests():
    rows = [row(p=None, verdict="significant"), row(p=None, verdict="inconclusive")]
    rows += [row(p=None, verdict="hedger", family="character"), row(p=None, family="rank")]
    assert made(rows, correction=None)["n_tests"].to_list() == [2, 2, 0, 0]


@every(("unit", "enough"), [("items", exact.LEAST_ITEMS), ("models", exact.LEAST_MODELS)])
@every("correction", ["holm", "bonferroni", None])
def test_nothing_is_significant_below_the_stated_n(unit, enough, correction):
    found = made([row(p=1e-9, n=n) for n in range(enough + 2)], correction=correction, unit=unit)
    assert found["verdict"].to_list() == [None] * enough + ["significant"] * 2
    assert found["p"].null_count() == 0
    assert all(said.startswith("no verdict: ") for said in found["status"].to_list()[:enough])


def test_the_primary_test_is_marked_and_no_other():
    rows = [row(), row("ece"), row(family="mcnemar"), row(p=None, status="single item", a="one")]
    assert made(rows)["primary"].to_list() == [True, False, False, True]
    assert not made(rows, questions=())["primary"].any()


@every("place", comparing.PLACE)
def test_a_test_made_twice_of_the_same_is_primary_once_and_first(place):
    same: dict[str, Any] = {"condition": "baseline"}
    rows = [row(note="all 8 models", **same), row(note="without m1", **same)]
    assert made(rows, unit="models")["primary"].to_list() == [True, False]
    elsewhere = replace(row(**same), **{place: "other"})
    assert made([*rows, elsewhere])["primary"].to_list() == [True, False, True]


@every("name", registry.names())
def test_no_test_answers_two_questions_and_every_primary_family_is_declared(name):
    questions = registry.load(name).questions
    assert len({question.primary for question in questions}) == len(questions)
    asked = [question.asks for question in questions]
    assert len(set(asked)) == len(asked)


def test_a_contrast_without_rows_and_one_that_fails_keep_the_schema():
    assert made([]).is_empty()
    stub: Any = SimpleNamespace(
        name="toy", measures=(), contrasts=(Contrast("pairs", lambda *_: 1 / 0),), questions=ASKED
    )
    groups: Any = (SimpleNamespace(dataset="d", source="measured"),)
    found = comparisons(stub, groups)
    assert found["status"].to_list() == ["failed: ZeroDivisionError: division by zero"]
    assert found.schema == made([row()]).schema


def test_tests_of_confidence_that_fail_leave_a_row_with_the_reason():
    def broken(scored: pl.DataFrame) -> pl.DataFrame:
        raise ValueError("no confidence")

    stub: Any = SimpleNamespace(
        name="toy", measures=(), questions=(), unanswered=("not_run",), harmonise=broken
    )
    groups: Any = (SimpleNamespace(dataset="d", source="measured"),)
    scored = pl.DataFrame({"status": ["not_run"]})
    found = comparing.of_confidence(stub, groups, scored, HARMONISED.to_frame())
    assert found["family", "dataset", "status"].rows() == [
        ("confidence_models", "d", "failed: ValueError: no confidence")
    ]
    assert comparing.failures_in(found) == ["confidence_models: ValueError: no confidence"]


def test_rows_that_are_judged_again_stay_as_they_are():
    contrast = Contrast("pairs", lambda *_: ())
    stub: Any = SimpleNamespace(name="toy")
    once = without_few(judged(contrast, as_table(stub, [row(p=0.01), row(p=0.3, n=2)])))
    assert without_few(judged(contrast, once)).drop("verdict").equals(once.drop("verdict"))


def test_a_difference_is_marked_where_either_side_is_or_few_items_are_shared():
    def difference(n: int = 100, **more: Any) -> Comparison:
        return row(low=-0.1, high=0.1, n=n, condition="x", **more)

    rows = [
        difference(a="good", b="fine"), difference(a="good", b="few"), difference(a="few", b="fine"),
        difference(29, a="good", b="fine"), difference(30, a="good", b="fine"), row(a="good", b="few"),
        difference(a="good", b="few", task="A"), replace(difference(a="x", b="y", model="good"), condition=None),
        replace(difference(a="x", b="z", model="few"), condition=None),
    ]  # fmt: skip
    marks = [
        ("good", "x", False),
        ("fine", "x", False),
        ("few", "x", True),
        ("good", "y", False),
        ("few", "z", True),
    ]
    pooled = pl.DataFrame(
        [("d", "measured", model, label, "accuracy", few) for model, label, few in [*marks, ("few", "A x", True)]],
        schema=["dataset", "source", "model", "condition", "measure", "low_n"], orient="row",
    )  # fmt: skip
    stub: Any = SimpleNamespace(name="toy")
    found = comparing.marked(as_table(stub, rows), pooled)["low_n"].to_list()
    assert found == [False, True, True, True, False, None, True, False, True]
    assert comparing.marked(as_table(stub, rows), None)["low_n"].to_list()[:5] == [
        False,
        False,
        False,
        True,
        False,
    ]


def test_a_test_of_equivalence_without_an_interval_is_judged_by_its_p():
    rows = [row(p=0.001, value=0.01, low=0.005, high=0.02), row(p=0.001, value=0.01)]
    found = made(rows, rope={"accuracy": 0.05})
    assert found["verdict"].to_list() == ["negligible", "significant"]


def test_only_a_model_that_was_compared_with_no_other_has_a_row_that_says_so():
    def lacking(model: str) -> Any:
        about = {"dataset": "d", "source": "measured", "task": None, "condition": "c", "scoring": ""}
        rows = pl.DataFrame({"item_id": ["1", "2"]})
        return SimpleNamespace(
            model=model, complete=False, incomplete="1 of 3 not answered", rows=rows, **about
        )

    contrast = Contrast("pairs", lambda *_: (), between_models=True)
    compared = row(a="one", b="two", condition="c", scoring="")
    rows = as_table(SimpleNamespace(name="toy"), [compared])
    found = list(comparing.not_compared(contrast, [lacking("one"), lacking("three")], rows))
    assert [(each.a, each.n, each.status) for each in found] == [
        ("three", 2, "not compared: 1 of 3 not answered")
    ]
