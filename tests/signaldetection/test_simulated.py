"""Simulated respondents: reproducible, obedient to constraints, and with the parameters they were given."""

import polars as pl

from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.stats.counts import Counts, counts_from_trials
from metacog_pipeline.stats.metad import fit_metad
from metacog_pipeline.stats.type1 import type1


def counted(rows: pl.DataFrame, ratings: int = 5) -> Counts:
    read = rows.filter(pl.col("response").is_not_null())
    rated = read["confidence"].fill_null(1)
    return counts_from_trials(
        read["stimulus"].to_numpy(), read["response"].to_numpy(), rated.to_numpy(), ratings
    )


def test_parameters_are_recovered_through_text(many_items, answered):
    d, m_ratio, criterion = 2.5, 0.5, -0.4
    observer = ObserverSpec(d=d, m_ratio=m_ratio, criterion=criterion, criteria=(0.4, 0.8, 1.2, 1.7), seed=5)
    rows = answered(many_items, observer)
    assert set(rows["status"]) == {"ok"}
    table = counted(rows)
    found, fit = type1(table), fit_metad(table)
    # Five standard errors: the observer is one draw.
    assert abs(found.d[0] - d) < 5 * found.var_d[0] ** 0.5
    assert abs(found.c[0] - criterion) < 5 * found.var_c[0] ** 0.5
    assert fit.status[0] == "ok" and abs(fit.meta_d1[0] - m_ratio * d) < 5 * fit.se_meta_d[0] + 0.02
    for cuts in (fit.t2c_rs2[0] - fit.meta_c1[0], (fit.meta_c1[0] - fit.t2c_rs1[0])[::-1]):
        assert max(abs(cuts - observer.criteria)) < 0.15


def test_sloppy_observers_leave_unread_answers_but_no_invented_ones(many_items, answered):
    few = many_items[:600]
    for condition in ("confidence", "risk_none"):
        tidy = answered(few, ObserverSpec(), conditions=(condition,))
        sloppy = answered(few, ObserverSpec(untidiness=1.0), conditions=(condition,))
        expected = {"ok", "answer_unparsed"} | (
            {"confidence_unparsed"} if condition == "confidence" else set()
        )
        assert set(sloppy["status"]) == expected
        both = tidy.join(sloppy, on="item_id").filter(pl.col("response_right").is_not_null())
        assert both.height > 200 and (both["response"] == both["response_right"]).all()
        rated = both.filter(pl.col("confidence_right").is_not_null())
        assert (rated["confidence"] == rated["confidence_right"]).all()
    refusing = answered(few, ObserverSpec(refusal=1.0))
    assert refusing["response"].null_count() == refusing.height
    half = answered(few, ObserverSpec(refusal=0.5))
    assert abs(half["response"].null_count() - 300) < 62
