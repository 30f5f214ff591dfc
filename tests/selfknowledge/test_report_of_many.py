"""With many models the report prints what is primary and draws some: all of it stands in the tables."""

from typing import Any

from metacog_pipeline.benchmarks.selfknowledge import report
from metacog_pipeline.benchmarks.selfknowledge.figures import Curves


def row(p: float | None, primary: bool, a: str = "a") -> tuple[Any, ...]:
    return ("measured", "models_paired", "dual", "d_type2", a, "b", 0.1, 0.0, 0.2, p, None, "ok", 60, primary)


def test_of_many_tests_the_primary_ones_with_the_smallest_p_are_printed_in_their_order():
    few = [row(0.5, True), row(0.1, False)]
    assert report._few_tests(few) == few
    many = [row(k / 2000, k % 2 == 0, f"m{k:04d}") for k in range(2 * report.MOST_TESTS + 2)]
    many[0] = row(None, True, "no p")
    found = report._few_tests(many)
    assert len(found) == report.MOST_TESTS and all(each[-1] for each in found)
    assert [each[4] for each in found] == sorted(each[4] for each in found) and found[0][4] == "m0002"


def test_of_many_models_those_with_the_largest_d_have_densities_and_one_without_d_comes_last():
    series = {f"m{k:02d}": Curves() for k in range(report.MOST_DENSITIES + 2)}
    values: report.Values = {
        (name, "dual"): {"d_type2": (float(k), None, None, 9, "")} for k, name in enumerate(series) if k
    }
    values["m01", "dual"] = {"d_type2": (None, None, None, 9, "")}
    chosen = [name for name, _ in report._most_sensitive(series, values, "dual")]
    assert chosen == [f"m{k:02d}" for k in range(len(series) - 1, 1, -1)]
    few = dict(list(series.items())[:2])
    assert [name for name, _ in report._most_sensitive(few, values, "dual")] == ["m00", "m01"]
