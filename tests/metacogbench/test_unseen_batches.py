"""Batches of replies written with labels before any scorer saw them.

How each was read at first stands in docs/benchmarks/metacogbench/README.md.

They have been used to widen the cues since, so what is held here is that nothing falls back, batch by batch.
"""

import json
from pathlib import Path

import pytest

from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.caution import score_caution
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.grounded import find_factors, score_core_claim
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.stance import score_stance
from metacog_pipeline.benchmarks.metacogbench.parsing.bet import read_bet
from metacog_pipeline.benchmarks.metacogbench.parsing.confidence import read_confidence
from metacog_pipeline.benchmarks.metacogbench.parsing.json_fields import read_fields
from metacog_pipeline.benchmarks.metacogbench.parsing.matching import AnswerKey, is_correct
from tests.metacogbench.helpers import scored

DATA = Path(__file__).parent / "data"
BATCHES = sorted(path.stem for path in DATA.glob("batch_*.jsonl"))
VALUES = sorted(path.stem for path in DATA.glob("values_*.jsonl"))
KAPPA_REQUIRED, ACCURACY_REQUIRED = 0.6, 0.95


def rows(name):
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def caution(reply, item):
    found = score_caution(reply)
    return {"pass_ge1": found.ge1, "pass_ge2": found.scoped}


def stance(reply, item):
    found = score_stance(reply)
    return {"pushback": found.pushback, "cave": found.cave, "pass": found.passed}


def bet_verdict(reply, item):
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in item.items()}
    return {"pass": scored(Item(item_id="x", tier="1a", stem="", **given), reply).passed}


def conf_parse(reply, item):
    stated = read_confidence(reply)
    return {"pre": stated.pre, "answer": stated.answer, "post": stated.post}


def answer_match(reply, item):
    forms = item["key"] if isinstance(item["key"], list) else [item["key"]]
    extra = {name: item[name] for name in ("abs_tol", "rel_tol", "exact") if name in item}
    key = AnswerKey(item["type"], tuple(forms), tuple(item.get("reject", ())), **extra)
    return {"correct": is_correct(reply, key)}


def factors(reply, item):
    found = sorted(find_factors(reply, item["factors"]))
    return {"factors": found, "n": len(found)}


def core_claim(reply, item):
    claim = score_core_claim(reply, **item)
    return {name: getattr(claim, name) for name in ("acknowledges", "maintains", "overcorrects", "grounded")}


def json_fields(reply, item):
    found = read_fields(reply, item["fields"])
    fields = {name: int(ok) for name, ok in found.ok.items()}
    return {"found": found.found, "fields": fields, "n_ok": found.n_ok, "pass": found.passed}


SCORERS = {
    "bet_parse": lambda reply, item: {"bet": read_bet(reply)},
    "bet_verdict": bet_verdict,
    "conf_parse": conf_parse,
    "answer_match": answer_match,
    "factors": factors,
    "core_claim": core_claim,
    "json_fields": json_fields,
}


def kappa(pairs):
    same = sum(a == b for a, b in pairs) / len(pairs)
    first, second = (sum(pair[i] for pair in pairs) / len(pairs) for i in (0, 1))
    chance = first * second + (1 - first) * (1 - second)
    return (same - chance) / (1 - chance)


@pytest.mark.parametrize("rule", [caution, stance], ids=["caution", "stance"])
@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_agrees_with_its_labels_beyond_chance(name, rule, capsys):
    of_rule = [row for row in rows(name) if row["rule"] == rule.__name__]
    read = [(row["expect"], rule(row["response"], None)) for row in of_rule]
    assert len(read) >= 20
    for key in read[0][0]:
        pairs = [(want[key], got[key]) for want, got in read]
        accuracy, agreement = sum(a == b for a, b in pairs) / len(pairs), kappa(pairs)
        with capsys.disabled():
            print(
                f"\n{name} {rule.__name__}.{key}: accuracy {accuracy:.3f}, kappa {agreement:.3f}, n {len(pairs)}",
                end="",
            )
        assert agreement >= KAPPA_REQUIRED


@pytest.mark.parametrize("name", VALUES)
def test_values_fields_and_regexes_are_read(name, capsys):
    by_rule = {}
    for row in rows(name):
        right = SCORERS[row["rule"]](row["response"], row.get("item")) == row["expect"]
        by_rule.setdefault(row["rule"], []).append((right, row["id"]))
    for rule, found in sorted(by_rule.items()):
        missed = [row_id for right, row_id in found if not right]
        with capsys.disabled():
            print(f"\n{name} {rule}: {len(found) - len(missed)} of {len(found)} {missed or ''}", end="")
    every = [right for found in by_rule.values() for right, _ in found]
    assert set(by_rule) == set(SCORERS) and sum(every) / len(every) >= ACCURACY_REQUIRED
