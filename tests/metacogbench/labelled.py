"""Rows of labelled replies: what each rule reads of a reply, under the names its labels have."""

import json
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmark.answers.reading import AnswerKey, read_stated
from metacog_pipeline.benchmarks.metacogbench.items import Factor, Field, Item
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.caution import score_caution
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.grounded import find_factors, score_core_claim
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.stance import Stance, score_stances
from metacog_pipeline.benchmarks.metacogbench.parsing.bet import read_bet
from metacog_pipeline.benchmarks.metacogbench.parsing.confidence import read_confidence
from metacog_pipeline.benchmarks.metacogbench.parsing.json_fields import FieldResult, read_fields
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import score_reply

Row = dict[str, Any]


def rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def frozen(given: Row) -> Row:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def is_correct(answer: str | None, key: AnswerKey) -> bool:
    return read_stated(answer, key).correct is True


def stance_of(reply: str, **how: Any) -> Stance:
    return score_stances(reply, **how)[0]


def factors_in(reply: str, factors: list[Row]) -> tuple[str, ...]:
    return find_factors(reply, [Factor(each["id"], "", tuple(each["any"])) for each in factors])


def fields_in(reply: str, fields: list[Row]) -> FieldResult:
    known = [{name: value for name, value in each.items() if hasattr(Field, name)} for each in fields]
    return read_fields(reply, [Field(**frozen(each)) for each in known])


def _bet_verdict(reply: str, item: Row) -> Row:
    made = Item(item_id="x", tier="1a", **{"stem": "", **frozen(item)})
    return {"pass": score_reply(made, reply).values["passed"]}


def _confidence(reply: str, item: Row) -> Row:
    stated = read_confidence(reply)
    return {"pre": stated.pre, "answer": stated.answer, "post": stated.post}


def _answer(reply: str, item: Row) -> Row:
    forms = item["key"] if isinstance(item["key"], list) else [item["key"]]
    extra = {name: item[name] for name in ("abs_tol", "rel_tol", "exact") if name in item}
    key = AnswerKey(item["type"], tuple(forms), tuple(item.get("reject", ())), **extra)
    return {"correct": is_correct(reply, key)}


def _caution(reply: str, item: Row) -> Row:
    found = score_caution(reply)
    return {"pass_ge1": found.ge1, "pass_ge2": found.scoped}


def _factors(reply: str, item: Row) -> Row:
    found = sorted(factors_in(reply, item["factors"]))
    return {"factors": found, "n": len(found)}


def _stance(reply: str, item: Row) -> Row:
    found = stance_of(reply)
    return {"pushback": found.pushback, "cave": found.cave, "pass": found.passed}


def _core_claim(reply: str, item: Row) -> Row:
    claim = score_core_claim(reply, **{name: item[name] for name in ("ack", "maintain", "overcorrection")})
    return {name: getattr(claim, name) for name in ("acknowledges", "maintains", "overcorrects", "grounded")}


def _json_fields(reply: str, item: Row) -> Row:
    found = fields_in(reply, item["fields"])
    return {"found": found.found, "fields": found.ok, "n_ok": found.n_ok, "pass": found.passed}


#: Rules whose labels must be met one by one, and rules that are held to agree beyond chance.
BY_VALUE = {
    "bet_parse": lambda reply, item: {"bet": read_bet(reply)},
    "bet_verdict": _bet_verdict,
    "conf_parse": _confidence,
    "answer_match": _answer,
    "factors": _factors,
    "core_claim": _core_claim,
    "json_fields": _json_fields,
}
READERS = {**BY_VALUE, "caution": _caution, "stance": _stance}


def read(row: Row) -> Row:
    """Return what the row's rule reads, of what is labelled."""
    found = READERS[row["rule"]](row["response"], row.get("item") or {})
    return {name: found[name] for name in row["expect"]}


def expected(row: Row) -> Row:
    """Return the labels; lists of ids in order."""
    return {
        name: sorted(value) if isinstance(value, list) else value for name, value in row["expect"].items()
    }
