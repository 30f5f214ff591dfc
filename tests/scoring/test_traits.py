"""What stands for monitoring and control: more is better, tasks are averaged, imported answers stand among models."""

import numpy as np
import polars as pl
import pytest

from metacog_pipeline import registry
from metacog_pipeline.scoring.correlations import CORRELATION, correlations, kind
from metacog_pipeline.scoring.schemas import CALIBRATION
from metacog_pipeline.scoring.traits import VALUE_SCHEMA, Trait, traits, values


def estimates(rows):
    return pl.DataFrame(
        rows,
        schema={
            **dict.fromkeys(("task", "condition", "model", "source", "measure"), pl.String),
            **dict.fromkeys(("estimate", "sem"), pl.Float64),
        },
        orient="row",
    )


def row_of(benchmark, condition, model, measure, value):
    row = dict.fromkeys(CALIBRATION.names())
    row |= {
        "benchmark": benchmark, "condition": condition, "model": model, "measure": measure, "estimate": value,
        "sem": 0.1, "source": "measured", "dataset": "sample", "n": 10, "status": "ok", "method": "m",
    }  # fmt: skip
    return row


def test_less_calibration_error_stands_higher_and_tasks_are_averaged():
    errors = {"A confidence": 0.1, "B confidence": 0.2, "C confidence": 0.3}
    rows = [row_of("b", condition, "m", "ece", value) for condition, value in errors.items()]
    table = pl.DataFrame(rows, schema=CALIBRATION)
    (row,) = values([Trait("b", "ece", "monitoring", sign=-1, harmonised=True)], table, {}).to_dicts()
    assert row["value"] == pytest.approx(-0.2) and row["sem"] == pytest.approx(0.1 / 3**0.5)
    assert row["name"] == "b ece" and row["trait"] == "monitoring"


def test_answers_collected_elsewhere_stand_among_models_and_observers_apart():
    rows = [(None, "free", name, source, "saf", 0.5, 0.1) for name, source in
            (("a", "measured"), ("b", "imported"), ("c", "simulated"))]  # fmt: skip
    saf = Trait("b", "saf", "control", ("free",))
    found = values([saf], pl.DataFrame(schema=CALIBRATION), {"b": estimates(rows)})
    assert dict(found.select("model", "source").iter_rows()) == {
        "a": "measured",
        "b": "measured",
        "c": "simulated",
    }
    assert found.schema == VALUE_SCHEMA


def test_names_of_measures_are_unique_and_every_pair_of_kinds_is_named():
    every = traits(registry.load(name) for name in registry.names())
    assert len({(trait.benchmark, trait.measure) for trait in every}) == len(every)
    assert kind("monitoring", "monitoring", "a", "b") == "convergent"
    assert kind("monitoring", "control", "a", "b") == "discriminant"
    assert kind("monitoring", "control", "a", "a") == "method"


def test_measures_that_order_models_alike_correlate_and_few_models_say_so():
    rows = [
        {"name": f"{benchmark} x", "benchmark": benchmark, "measure": "x", "trait": "monitoring", "model": f"m{n}",
         "source": "measured", "value": float(n), "sem": 0.1}
        for benchmark in ("p", "q") for n in range(12)
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=VALUE_SCHEMA)
    (found,) = correlations(frame, seed=1, n_boot=100).to_dicts()
    assert (
        found["spearman"] == pytest.approx(1.0) and found["n_models"] == 12 and found["kind"] == "convergent"
    )
    (few,) = correlations(frame.filter(pl.col("model").is_in(["m1", "m2"])), seed=1, n_boot=20).to_dicts()
    assert few["spearman"] is None and "too few" in few["status"]
    assert correlations(frame.clear(), seed=1).schema == CORRELATION


@pytest.mark.parametrize(
    ("n", "p", "verdict"), [(3, 1 / 3, None), (4, 1 / 12, None), (5, 1 / 60, "significant")]
)
def test_few_models_have_an_exact_p_and_below_five_no_verdict(n, p, verdict):
    rows = [
        {"name": f"{benchmark} x", "benchmark": benchmark, "measure": "x", "trait": "monitoring", "model": f"m{i}",
         "source": "measured", "value": float(i), "sem": 0.1}
        for benchmark in ("p", "q") for i in range(n)
    ]  # fmt: skip
    (found,) = correlations(pl.DataFrame(rows, schema=VALUE_SCHEMA), seed=1, n_boot=20).to_dicts()
    assert found["p"] == found["p_adjusted"] == pytest.approx(p) and found["n_tests"] == 1
    assert found["verdict"] == verdict and found["status"] != "ok"


def test_the_pairs_of_a_kind_are_one_family():
    noise = np.random.default_rng(3).normal(size=(4, 8))
    rows = [
        {"name": f"{name} x", "benchmark": name, "measure": "x", "trait": "monitoring", "model": f"m{i}",
         "source": "measured", "value": noise[place, i], "sem": 0.1}
        for place, name in enumerate("pqrs") for i in range(8)
    ]  # fmt: skip
    found = correlations(pl.DataFrame(rows, schema=VALUE_SCHEMA), seed=1, n_boot=20)
    assert found["n_tests"].to_list() == [6] * 6 and (found["p_adjusted"] >= found["p"]).all()
    assert set(found["verdict"]) <= {"significant", "not_significant"}
