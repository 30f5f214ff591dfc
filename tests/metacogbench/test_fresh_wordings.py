"""Replies in our own wording, with the verdict a careful reader gives.

Each set was scored unseen before any rule was widened; the figures stand in docs/benchmarks/metacogbench/README.md.
What is held here is that nothing falls back.
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
from tests.tables import every

ROWS = [
    json.loads(line)
    for path in sorted(Path(__file__).parent.glob("fresh_wordings*.jsonl"))
    for line in path.read_text(encoding="utf-8").splitlines()
]
AGREEMENT = {"caution": 0.6, "stance": 0.9}  # least κ over all sets; the other rules must always hold


def rows(rule):
    return [pytest.param(row, id=row["id"]) for row in ROWS if row["rule"] == rule]


def kappa(pairs):
    same = sum(a == b for a, b in pairs) / len(pairs)
    first, second = (sum(pair[i] for pair in pairs) / len(pairs) for i in (0, 1))
    chance = first * second + (1 - first) * (1 - second)
    return (same - chance) / (1 - chance)


@every("row", rows("bet_parse"))
def test_bet(row):
    assert read_bet(row["response"]) == row["expect"]["bet"]


@every("row", rows("bet_verdict"))
def test_bet_verdict(row):
    given = {name: tuple(v) if isinstance(v, list) else v for name, v in row["item"].items()}
    item = Item(item_id="x", tier="1a", stem="", **given)
    assert scored(item, row["response"]).passed == row["expect"]["pass"]


@every("row", rows("conf_parse"))
def test_confidence(row):
    stated = read_confidence(row["response"])
    assert {"pre": stated.pre, "answer": stated.answer, "post": stated.post} == row["expect"]


@every("row", rows("answer_match"))
def test_answer(row):
    given = row["item"]
    forms = given["key"] if isinstance(given["key"], list) else [given["key"]]
    extra = {name: given[name] for name in ("abs_tol", "rel_tol", "exact") if name in given}
    key = AnswerKey(given["type"], tuple(forms), tuple(given.get("reject", ())), **extra)
    assert is_correct(row["response"], key) == row["expect"]["correct"]


@every("row", rows("factors"))
def test_factors(row):
    assert set(find_factors(row["response"], row["item"]["factors"])) == set(row["expect"]["factors"])


@every("row", rows("core_claim"))
def test_core_claim(row):
    claim = score_core_claim(row["response"], **row["item"])
    said = {name: getattr(claim, name) for name in ("acknowledges", "maintains", "overcorrects", "grounded")}
    assert said == row["expect"]


@every("row", rows("json_fields"))
def test_json_fields(row):
    found = read_fields(row["response"], row["item"]["fields"])
    want = row["expect"]
    assert (found.found, found.n_ok, found.passed) == (want["found"], want["n_ok"], want["pass"])
    assert {name: int(ok) for name, ok in found.ok.items()} == want["fields"]


def test_caution_agrees_with_a_careful_reader():
    read = [(row, score_caution(row["response"])) for row in ROWS if row["rule"] == "caution"]
    assert kappa([(row["expect"]["pass_ge1"], found.ge1) for row, found in read]) >= AGREEMENT["stance"]
    assert kappa([(row["expect"]["pass_ge2"], found.scoped) for row, found in read]) >= AGREEMENT["caution"]


@pytest.mark.parametrize(
    ("name", "attribute"), [("pushback", "pushback"), ("cave", "cave"), ("pass", "passed")]
)
def test_stance_agrees_with_a_careful_reader(name, attribute):
    read = [(row, score_stance(row["response"])) for row in ROWS if row["rule"] == "stance"]
    pairs = [(row["expect"][name], getattr(found, attribute)) for row, found in read]
    assert kappa(pairs) >= AGREEMENT["stance"]
