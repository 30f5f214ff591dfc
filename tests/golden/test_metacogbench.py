"""Readers and scorers of MetaCog-Bench against hand-written replies, by the class of each row.

Reads ``$METACOG_GOLDEN/metacogbench/*.jsonl``, file by file; what is absent is skipped. Contract rows must all pass,
judgement rows are scored together per rule (accuracy and Cohen's κ printed, κ of at least 0.6 required), stress rows are
printed only.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from metacog_pipeline.benchmarks.metacogbench.composites import composites, rounded
from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.caution import score_caution
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.grounded import find_factors, score_core_claim
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.stance import score_stance
from metacog_pipeline.benchmarks.metacogbench.parsing.bet import read_bet
from metacog_pipeline.benchmarks.metacogbench.parsing.confidence import read_confidence
from metacog_pipeline.benchmarks.metacogbench.parsing.json_fields import read_fields
from metacog_pipeline.benchmarks.metacogbench.parsing.matching import AnswerKey, is_correct
from metacog_pipeline.benchmarks.metacogbench.run_estimates import ece, run_stats
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import score_reply
from tests.tables import every

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
GOLDEN = Path(os.environ.get("METACOG_GOLDEN") or SHARED / "golden") / "metacogbench"
FILES = ("tier1a", "tier1b", "tier2a", "tier2b", "tier3", "composites")
KAPPA_REQUIRED = 0.6
NUMBER_TOLERANCE = 1e-6
AUDIT_ONLY = {"human_cautions"}


def bet_item(given):
    frozen = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    return Item(item_id="golden", tier="1a", stem=frozen.pop("stem", ""), **frozen)


def answer_key(given):
    forms = given["key"] if isinstance(given["key"], list) else [given["key"]]
    return AnswerKey(
        given["type"],
        tuple(forms),
        tuple(given.get("reject", ())),
        given.get("abs_tol", 0.0),
        given.get("rel_tol", 0.0),
        given.get("exact", False),
    )


def bet_parse(reply, item):
    return {"bet": read_bet(reply)}


def bet_verdict(reply, item):
    return {"pass": score_reply(bet_item(item), reply).values["passed"]}


def conf_parse(reply, item):
    stated = read_confidence(reply)
    return {"pre": stated.pre, "answer": stated.answer, "post": stated.post}


def answer_match(reply, item):
    return {"correct": is_correct(reply, answer_key(item))}


def calibration(reply, item):
    stated, right = (np.array(item[name], dtype=float) for name in ("conf", "correct"))
    bins = item.get("bins", 5)
    return {"ece_floor": ece(stated, right, bins, "floor"), "ece_ceil": ece(stated, right, bins, "equal")}


def caution(reply, item):
    found = score_caution(reply)
    return {"pass_ge1": found.ge1, "pass_ge2": found.scoped}


def factors(reply, item):
    found = find_factors(reply, item["factors"])
    return {"factors": sorted(found), "n": len(found)}


def stance(reply, item):
    found = score_stance(reply)
    return {"pushback": found.pushback, "cave": found.cave, "pass": found.passed}


def core_claim(reply, item):
    found = score_core_claim(
        reply, ack=item["ack"], maintain=item["maintain"], overcorrection=item["overcorrection"]
    )
    return {
        "acknowledges": found.acknowledges,
        "maintains": found.maintains,
        "overcorrects": found.overcorrects,
        "grounded": found.grounded,
    }


def json_fields(reply, item):
    found = read_fields(reply, item["fields"])
    return {"found": found.found, "fields": found.ok, "n_ok": found.n_ok, "pass": found.passed}


def composite(reply, item):
    tiers = dict(item["tiers"])
    error = tiers.pop("ece_pre", None)
    made = composites({**tiers, "t1b": None if error is None else 1 - error})
    return {"MS": made["ms"], "SAF": made["saf"], "CDTC": made["cdtc"], "overall": made["overall"]}


def over_runs(reply, item):
    mean, spread = run_stats(item["runs"])
    shown = [None if value is None else rounded(100 * value, 1) for value in (mean, spread)]
    return {"mean_pct": shown[0], "std_pct": shown[1]}


SCORERS = {
    "bet_parse": bet_parse,
    "bet_verdict": bet_verdict,
    "conf_parse": conf_parse,
    "answer_match": answer_match,
    "ece": calibration,
    "caution": caution,
    "factors": factors,
    "stance": stance,
    "core_claim": core_claim,
    "json_fields": json_fields,
    "composite": composite,
    "run_stats": over_runs,
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
    path = GOLDEN / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    chosen = [row for row in found if row["class"] == kind]
    if not chosen:
        pytest.skip(f"{path} has no row of class {kind}")
    return chosen


def scored(row):
    got = SCORERS[row["rule"]](row["response"], row.get("item") or {})
    return {name: (value, got[name]) for name, value in wanted(row).items()}


def kappa(pairs):
    """Cohen's κ, or None where both agree by necessity."""
    n = len(pairs)
    same = sum(a == b for a, b in pairs) / n
    first, second = (sum(pair[i] for pair in pairs) / n for i in (0, 1))
    chance = first * second + (1 - first) * (1 - second)
    return None if chance == 1 else (same - chance) / (1 - chance)


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
            shown = "undefined" if agreement is None else f"{agreement:.3f}"
            print(
                f"\n{rule}.{key}: accuracy {accuracy:.3f}, kappa {shown}, n {len(pairs)} {missed or ''}",
                end="",
            )
        assert agreement is None or agreement >= KAPPA_REQUIRED, f"{rule}.{key}: {missed}"


@pytest.mark.parametrize("name", FILES)
def test_stress_rows_are_printed_only(name, capsys):
    for row in rows(name, "stress"):
        pairs = scored(row)
        with capsys.disabled():
            print(f"\nstress {row['id']}: {pairs}", end="")
