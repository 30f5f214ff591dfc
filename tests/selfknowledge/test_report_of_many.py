"""With many models the report prints what is primary and draws some: all of it stands in the tables."""

from typing import Any

import duckdb

from metacog_pipeline.benchmarks.selfknowledge import report
from metacog_pipeline.benchmarks.selfknowledge.figures import Curves


def printed(rows: list[tuple[str, float | None, bool]]) -> list[tuple[Any, ...]]:
    """Return the tests that are printed of those with a name, a p and whether they are primary."""
    with duckdb.connect() as connection:
        connection.execute(
            "create table comparisons as select 'selfknowledge' as benchmark, 'measured' as source, 'paired' as family, "
            "'dual' as condition, null as model, 'd_type2' as measure, a, 'b' as b, 0.1 as value, 0.0 as low, 0.2 as high, "
            "p::double as p_adjusted, null as verdict, 'ok' as status, 60 as n, main as \"primary\" "
            "from unnest($rows::struct(a varchar, p double, main boolean)[]) as given(made), "
            "lateral (select made.a, made.p, made.main)",
            {"rows": [dict(zip(("a", "p", "main"), row, strict=True)) for row in rows]},
        )
        return connection.execute(report._TESTS).fetchall()


def test_of_many_tests_the_primary_ones_with_the_smallest_p_are_printed_in_their_order():
    few = printed([("m1", 0.5, True), ("m2", 0.1, False)])
    assert [(every, a) for _, every, _, _, _, a, *_ in few] == [(2, "m1"), (2, "m2")]
    many = [(f"m{k:04d}", k / 2000, k % 2 == 0) for k in range(2 * report.MOST_TESTS + 2)]
    many[0] = ("m0000", None, True)
    found = [row[5] for row in printed(many)]
    assert found == [name for name, p, primary in many if primary and p is not None]
    assert len(found) == report.MOST_TESTS


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
