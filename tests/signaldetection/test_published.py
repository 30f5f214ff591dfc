"""Published results with ours: what follows from the counts, the verdicts of the text, and the refit that ships.

``METACOG_WRITE_REFIT=1`` writes the refit again.
"""

import json
import os
import shutil

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmarks.signaldetection import published
from metacog_pipeline.files import shipped
from tests.signaldetection import refit

SHIPPED = shipped("data", "published", "signaldetection")


def test_the_model_free_measures_of_the_published_cells_are_those_of_their_counts():
    found = {(task, model): (n, own) for task, model, n, own in published.model_free()}
    assert len(found) == 9
    one, four = (refit.half_width(2.0, n) for n in (2000, 8000))
    assert one / four == pytest.approx(2, rel=0.02) and 0.1 < one < 0.13
    n, own = found["A", "GPT-5-2025-08-07"]
    assert n == 20_000 and own["m_ratio"] == pytest.approx(0.8565, abs=0.002)
    assert all(0.5 < each["auroc2"] < 1 and 0 < each["meta_information"] < 0.5 for _, each in found.values())


# --- the refit that ships -----------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def shipped_refit(tmp_path_factory):
    if os.environ.get("METACOG_WRITE_REFIT"):
        refit.write_refit(SHIPPED, tmp_path_factory.mktemp("posteriors"))
    made_from = json.loads((SHIPPED / "refit.json").read_text("utf-8"))["made_from"]
    assert made_from == refit.release(SHIPPED), (
        "the tables, or a version behind them, have changed: run METACOG_WRITE_REFIT=1 pytest "
        "tests/signaldetection/test_published.py"
    )
    return published.read_refit(SHIPPED)


def test_the_text_is_judged_pair_by_pair_and_two_verdicts_are_reversed(shipped_refit):
    rows = [row for row in shipped_refit.claims if row["place"].startswith("Text")]
    assert rows == list(refit.verdicts(shipped_refit, SHIPPED)) and len(rows) == 94
    assert shipped_refit.headline == refit.headline(shipped_refit, rows, SHIPPED)
    assert np.allclose(
        [row[2:] for row in shipped_refit.cells],
        [row[2:] for row in refit.model_free(shipped_refit, SHIPPED)],
    )
    assert np.allclose(
        [row[3:] for row in shipped_refit.relative], [row[3:] for row in refit.relative_criteria(SHIPPED)]
    )
    other = {row["subject"]: row["note"] for row in rows if row["verdict"] == "differs"}
    assert other == {
        "GPT-5-2025-08-07 - DeepSeek-V3.2-Exp, task C": "the counts give: significant",
        "DeepSeek-V3.2-Exp - Mistral-Medium-2508, task C": "the counts give: inconclusive",
    }
    ledger = {row["quantity"]: row for row in published.ledger(SHIPPED).iter_rows(named=True)}
    reversed_ = ledger["GPT-5 is more efficient than DeepSeek"]
    assert (reversed_["published"], reversed_["recomputed"]) == (2, 3) and "task C" in reversed_["note"]


def test_the_shipped_refit_equals_what_is_computed_now(shipped_refit, tmp_path):
    assert len(shipped_refit.claims) == 9 * 3 + 27 * 2 + 94
    for name in refit.FILES:
        shutil.copy(SHIPPED / name, tmp_path)
    pl.read_csv(tmp_path / "counts.csv").head(1).write_csv(
        tmp_path / "counts.csv"
    )  # one posterior: each costs a second
    again = refit.refit_tables(tmp_path, refit.SEED, tmp_path / "posteriors")
    place = ("place", "task", "model", "condition", "quantity", "method")
    kept = {tuple(row.get(name) for name in place): row for row in shipped_refit.claims}
    for row in again.claims:
        own = kept[tuple(row[name] for name in place)]
        # Another processor may round the last bit otherwise, and chains then part: as sure as the draws are.
        sure = 0.02 if row["place"] == "table S1" else 1e-8
        for name, value in row.items():
            assert own[name] == (pytest.approx(value, abs=sure) if isinstance(value, float) else value), name
    tests = {(t.family, t.measure, t.task, t.model, t.a, t.b): t for t in shipped_refit.tests}
    for found in again.tests:
        other = tests[found.family, found.measure, found.task, found.model, found.a, found.b]
        assert other.value == pytest.approx(found.value, abs=0.02) and other.verdict == found.verdict


def test_the_published_tables_follow_but_for_one_cell_and_one_misprint(shipped_refit):
    off = [row for row in shipped_refit.claims if row.get("follows") is False]
    cells = [(row["task"], row["model"], row["condition"], row["quantity"]) for row in off]
    assert cells == [
        *(("C", "DeepSeek-V3.2-Exp", "confidence", name) for name in ("d", "meta_d", "m_ratio")),
        ("C", "GPT-5-2025-08-07", "risk_none", "ci_half"),
    ]
    assert all("converge" in row["note"] for row in off[:3])
    assert all(row["recomputed"] is not None for row in shipped_refit.claims)
