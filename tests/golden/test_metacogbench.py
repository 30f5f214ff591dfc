"""Readers and scorers of MetaCog-Bench against hand-written replies, by the class of each row.

Reads ``$METACOG_GOLDEN/metacogbench/*.jsonl``, file by file; what is absent is skipped. Contract rows must all pass,
judgement rows are scored together per rule (accuracy and Cohen's κ printed, κ of at least 0.6 required), stress rows are
printed only.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from metacog_pipeline.benchmarks.metacogbench.composites import composites, rounded
from metacog_pipeline.benchmarks.metacogbench.run_estimates import ece, run_stats
from tests.batches import kappa
from tests.metacogbench import labelled
from tests.tables import every

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
GOLDEN = Path(os.environ.get("METACOG_GOLDEN") or SHARED / "golden") / "metacogbench"
FILES = ("tier1a", "tier1b", "tier2a", "tier2b", "tier3", "composites")
KAPPA_REQUIRED = 0.6
NUMBER_TOLERANCE = 1e-6
AUDIT_ONLY = {"human_cautions"}


def calibration(reply, item):
    stated, right = (np.array(item[name], dtype=float) for name in ("conf", "correct"))
    bins = item.get("bins", 5)
    return {"ece_floor": ece(stated, right, bins, "floor"), "ece_ceil": ece(stated, right, bins, "equal")}


def composite(reply, item):
    tiers = dict(item["tiers"])
    error = tiers.pop("ece_pre", None)
    made = composites({**tiers, "t1b": None if error is None else 1 - error})
    return {"MS": made["ms"], "SAF": made["saf"], "CDTC": made["cdtc"], "overall": made["overall"]}


def over_runs(reply, item):
    mean, spread = run_stats(item["runs"])
    shown = [None if value is None else rounded(100 * value, 1) for value in (mean, spread)]
    return {"mean_pct": shown[0], "std_pct": shown[1]}


SCORERS = {**labelled.READERS, "ece": calibration, "composite": composite, "run_stats": over_runs}


def agrees(expected, got):
    if isinstance(expected, float | int) and not isinstance(expected, bool) and got is not None:
        return abs(expected - got) <= NUMBER_TOLERANCE
    if isinstance(expected, dict):
        return expected.keys() == got.keys() and all(
            bool(expected[key]) == bool(got[key]) for key in expected
        )
    return expected == got


def wanted(row):
    """What the row expects, without what only the audit uses; lists of ids in order."""
    kept = {name: value for name, value in row["expect"].items() if name not in AUDIT_ONLY}
    return {name: sorted(value) if isinstance(value, list) else value for name, value in kept.items()}


def rows(name, kind):
    path = GOLDEN / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    chosen = [row for row in labelled.rows(path) if row["class"] == kind]
    if not chosen:
        pytest.skip(f"{path} has no row of class {kind}")
    return chosen


def scored(row):
    got = SCORERS[row["rule"]](row["response"], row.get("item") or {})
    return {name: (value, got[name]) for name, value in wanted(row).items()}


@every("name", FILES)
def test_every_contract_row_passes(name):
    failed = []
    for row in rows(name, "contract"):
        pairs = scored(row)
        failed += [
            f"{row['id']} {key}: {want!r}, not {got!r}"
            for key, (want, got) in pairs.items()
            if not agrees(want, got)
        ]
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("name", FILES)
def test_judgement_rows_agree_beyond_chance(name, capsys):
    by_rule = {}
    for row in rows(name, "judgement"):
        for key, pair in scored(row).items():
            by_rule.setdefault((row["rule"], key), []).append((*pair, row["id"]))
    for (rule, key), found in sorted(by_rule.items()):
        pairs = [(bool(a), bool(b)) for a, b, _ in found]
        accuracy, agreement = sum(a == b for a, b in pairs) / len(pairs), kappa(pairs)
        missed = [row_id for (a, b), (_, _, row_id) in zip(pairs, found, strict=True) if a != b]
        with capsys.disabled():
            told = f"accuracy {accuracy:.3f}, kappa {agreement:.3f}, n {len(pairs)} {missed or ''}"
            print(f"\n{rule}.{key}: {told}", end="")
        assert agreement >= KAPPA_REQUIRED, f"{rule}.{key}: {missed}"


@pytest.mark.parametrize("name", FILES)
def test_stress_rows_are_printed_only(name, capsys):
    for row in rows(name, "stress"):
        pairs = scored(row)
        with capsys.disabled():
            print(f"\nstress {row['id']}: {pairs}", end="")
