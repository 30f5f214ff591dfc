"""Readers and scorers of MetaCog-Bench against hand-written replies."""

import numpy as np
import pytest

from metacog_pipeline.benchmarks.metacogbench.groups import composites, run_stats
from metacog_pipeline.benchmarks.metacogbench.items import Field, Item
from metacog_pipeline.benchmarks.metacogbench.published import rounded
from metacog_pipeline.benchmarks.metacogbench.read import Percent, Tokens, answer_field, stated_moments
from metacog_pipeline.benchmarks.metacogbench.rules import fields_right, is_right, score
from metacog_pipeline.reading.calls import Call, reading_of, said
from metacog_pipeline.reading.fields import Fields
from metacog_pipeline.reading.names import ShortText
from metacog_pipeline.stats.calibration import ece
from tests.golden.agreed import cases
from tests.tables import every

FILES = ("tier1a", "tier1b", "tier3", "composites")
NUMBER_TOLERANCE = 1e-6
# Rows about words of caution and stance are left out: words are not read any more.
AUDIT_ONLY = {"human_cautions"}


def calibration(reply, item):
    stated, right = (np.array(item[name], dtype=float) for name in ("conf", "correct"))
    bins = item.get("bins", 5)
    edges = {"ece_floor": "floor", "ece_ceil": "equal"}
    return {name: ece(stated / 100, right, bins, each).value for name, each in edges.items()}


def composite(reply, item):
    tiers = dict(item["tiers"])
    error = tiers.pop("ece_pre", None)
    made = composites({**tiers, "t1b": None if error is None else 1 - error})
    return {"MS": made["ms"], "SAF": made["saf"], "CDTC": made["cdtc"], "overall": made["overall"]}


def over_runs(reply, item):
    mean, spread = run_stats(item["runs"])
    shown = [None if value is None else rounded(100 * value, 1) for value in (mean, spread)]
    return {"mean_pct": shown[0], "std_pct": shown[1]}


def calls(reply):
    return {"answer": Call("ok", reply)}


def frozen(given):
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def bet(reply, item):
    return {"bet": said(reading_of(calls(reply), "answer", (ShortText(()), Tokens(0, 100)))["bet"])}


def verdict(reply, item):
    asked = Item(item_id="x", tier="1a", **{"stem": "", **frozen(item)})
    return {"pass": score(asked, calls(reply)).values["passed"]}


def confidence(reply, item):
    found = stated_moments(calls(reply), "answer", ShortText(()), Percent)
    return {name: said(found[name]) for name in ("pre", "answer", "post")}


def answer(reply, item):
    first, *others = item["key"] if isinstance(item["key"], list) else [item["key"]]
    kept = {name: item[name] for name in ("abs_tol", "rel_tol") if name in item}
    asked = Item(
        item_id="x", tier="1b", stem="A) argon B) helium C) neon", answer_type=item["type"], answer=first,
        accept=tuple(others), **kept,
    )  # fmt: skip
    found = answer_field(asked).read(reply)
    return {"correct": found.status == "ok" and is_right(asked, found.value)}


def fields(reply, item):
    known = [{name: value for name, value in each.items() if hasattr(Field, name)} for each in item["fields"]]
    asked = [Field(**frozen(each)) for each in known]
    names = {name: field.name for field in asked for name in (field.name, *field.aliases)}
    reading = reading_of(calls(reply), "answer", (Fields(names),))
    found = fields_right(asked, said(reading["fields"]) or {})
    return {"found": reading.status == "ok", "fields": found.ok, "n_ok": found.n_ok, "pass": found.passed}


SCORERS = {
    **{"bet_parse": bet, "bet_verdict": verdict, "conf_parse": confidence, "answer_match": answer},
    **{"json_fields": fields, "ece": calibration, "composite": composite, "run_stats": over_runs},
}
#: Rows that are read otherwise than the specification said, and why.
OTHERWISE = {
    "g-t1a-parse-014": "a range of tokens is ambiguous",
    "g-t1b-conf-011": "a range of percentages is ambiguous",
}


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
    path = f"metacogbench/{name}.jsonl"
    chosen = [row for row in cases(path) if row["class"] == kind and row["rule"] in SCORERS]
    if not chosen:
        pytest.skip(f"{path} has no row of class {kind}")
    return chosen


def scored(row):
    got = SCORERS[row["rule"]](row["response"], row.get("item") or {})
    return {name: (value, got[name]) for name, value in wanted(row).items()}


@every("name", FILES)
def test_every_contract_row_passes(name):
    failed = []
    for row in (each for each in rows(name, "contract") if each["id"] not in OTHERWISE):
        pairs = scored(row)
        failed += [
            f"{row['id']} {key}: {want!r}, not {got!r}"
            for key, (want, got) in pairs.items()
            if not agrees(want, got)
        ]
    assert not failed, "\n".join(failed)
