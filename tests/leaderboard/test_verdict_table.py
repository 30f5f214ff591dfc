"""The table ``verdict``: who is better follows the paired tests and the better end of the measure, never the last bit."""

import pytest

from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from tests.homes import few_tables, rows, write
from tests.leaderboard.conftest import estimates

ECE = "harmonised_ece"


@pytest.fixture(autouse=True)
def few(monkeypatch):
    few_tables(monkeypatch, "verdict")


@pytest.fixture
def calibrated(make_home):
    """Return the verdict on calibration for models with these errors and tests (a, b, a's minus b's, verdict)."""

    def verdict(errors, tests):
        home = make_home(dict.fromkeys(errors, "measured"), silent=tuple(errors))
        first = estimates("a", "measured", "sample", None, 0.5)[-1]
        key = {name: first[name] for name in ("benchmark", "dataset", "condition", "source")}
        same = {**key, "n": 90, "n_items": 90, "status": "ok", "measure": ECE}
        calibration = rows("model estimate low high", *((m, e, 0.0, 1.0) for m, e in errors.items()), **same)
        write(home, "cross_benchmark/calibration.parquet", calibration)
        of = {
            "family": "confidence_models",
            "measure": ECE,
            "question": "calibrated",
            "primary": True,
            "n": 90,
        }
        compared = []
        for a, b, value, said in tests:
            p, half = (0.01, 0.1) if said == "significant" else (0.5, 0.3)
            ends = {"low": value - half, "high": value + half}
            ends |= {f"{end}_adjusted": at for end, at in ends.items()}
            test = {"a": a, "b": b, "value": value, "verdict": said, "p": p, "p_adjusted": p}
            compared.append({**key, **of, **ends, **test})
        write(home, "estimates/metamedqa/comparisons/comparisons.parquet", compared)
        build(home)
        found = "select model, n_better, best, verdict from verdict where question = 'calibrated'"
        return [*run_query(home, f"{found} order by model").rows]

    return verdict


def test_the_smaller_error_is_the_better_one(calibrated):
    found = calibrated(
        {"a": 0.3, "b": 0.1, "c": 0.2}, [("a", "b", 0.2, "significant"), ("b", "c", -0.1, "not_significant")]
    )
    assert found == [("a", 1, "b", "worse"), ("b", 0, "b", "best"), ("c", 0, "b", "not separated")]


@pytest.mark.parametrize("values", [(0.3, 0.1 + 0.2), (0.1 + 0.2, 0.3)])
def test_of_equal_values_the_first_name_is_best_and_without_a_test_no_model_is_called_equal(
    calibrated, values
):
    assert calibrated(dict(zip("ab", values, strict=True)), []) == [
        ("a", 0, "a", "best"),
        ("b", 0, "a", "not tested"),
    ]
