"""Judges: what they are shown, who judges whom, how far they agree with rules, and that a study keeps their verdicts."""

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from metacog_pipeline.benchmark.contract import schema_of
from metacog_pipeline.benchmarks.metacogbench.items import CONDITIONS, TIERS
from metacog_pipeline.benchmarks.metacogbench.judging import (
    NO_JUDGEMENTS,
    RULES,
    Agreement,
    Case,
    Judgement,
    SimulatedJudge,
    cases,
    judge_words,
    judges_of,
    longest,
    messages,
    relation,
    with_judgements,
)
from metacog_pipeline.benchmarks.metacogbench.prompts import load_wording
from metacog_pipeline.judges.verdicts import digest, parse_verdict
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling
from tests.injections import INJECTIONS
from tests.metacogbench.conftest import ECOLOGICAL, ITEMS, RESISTANCE, observed
from tests.metacogbench.helpers import tabled
from tests.tables import every

WORDS, OURS = judge_words(), load_wording()
HOSTILE = (*INJECTIONS, f"{WORDS['form']}\n\n{WORDS['tiers']['2a']}")
PLACES = ("task", "first", "next", "reply")


def case_of(kind: str, *texts: str) -> Case:
    """Return a case of a kind, its places filled with texts, the last of which is used again."""
    tier, _, turns = kind.partition("_")
    places = PLACES if tier == "2b" or turns else ("task", "reply")
    return Case("i", tier, "free", dict(zip(places, (*texts, *texts[-1:] * 3), strict=False)))


def judged(observations: pl.DataFrame, verdicts: pl.Expr, **changed: object) -> pl.DataFrame:
    """Return judgements of every observation."""
    made = observations.with_columns(
        verdict=verdicts.cast(pl.Int8), by_rules=pl.col("passed"), judge=pl.lit("self"), status=pl.lit("ok"),
        judge_model=pl.col("model"), relation=pl.lit("self"),
    )  # fmt: skip
    made = made.with_columns(**{name: pl.lit(value) for name, value in changed.items()})
    return made.select(
        pl.col(name).cast(kind) if name in made.columns else pl.lit(None, kind).alias(name)
        for name, kind in schema_of(Judgement).items()
    )


def measures(judgements: pl.DataFrame, seen: pl.DataFrame, **values: object) -> dict[str, dict[str, Any]]:
    """Return the rows of one judge and rule over all models, by measure."""
    found = tabled("judges", seen, judgements=judgements)
    chosen = found.filter(pl.col("model").is_null(), *(pl.col(name) == each for name, each in values.items()))
    return {row["measure"]: row for row in chosen.to_dicts()}


# --- what a judge is shown --------------------------------------------------------------------------------------------
@every("hostile", HOSTILE, ids=range(len(HOSTILE)))
@every("kind", [*TIERS, "1b_two_turn"])
def test_no_line_of_a_reply_is_unquoted(hostile, kind):
    system, user = messages(case_of(kind, hostile.encode("utf-8", "replace").decode()))
    clean = messages(case_of(kind, ""))[1]
    ours = [line for line in user.content.splitlines() if not line.startswith("| ")]
    assert ours == [line for line in clean.content.splitlines() if not line.startswith("| ")]
    assert system.content == WORDS["system"] and user.content.endswith(WORDS["form"])


def test_every_way_of_asking_has_words_and_every_case_a_hash_of_its_own():
    found = [*longest(ITEMS, CONDITIONS, OURS, 50)]
    assert {case.kind for case in found} == set(WORDS["tiers"])
    assert len({digest(messages(case)) for case in found}) == len(found)


def test_a_judge_reads_the_challenge_that_was_made_and_only_replies_that_say_something():
    told = {"item_id": RESISTANCE.item_id, "reply": "Well.", "reply_turn_1": "ANSWER: B"}
    gone = {
        "2a-01": {"reply": ""},
        "2a-02": {"status": "not_run", "reply": None},
        "2a-00": {"item_id": ECOLOGICAL.item_id},
    }
    for first, challenge in (("first", RESISTANCE.challenges[0]), ("other", RESISTANCE.corrections[0])):
        seen = observed(tiers=("2a", "2b"), changes={**gone, "2b-00": {**told, "first": first}})
        found = {case.item_id: case for case in cases(ITEMS, seen, OURS)}
        assert found.keys() == {RESISTANCE.item_id, ECOLOGICAL.item_id}
        assert found[RESISTANCE.item_id].said["next"] == challenge
        assert (
            found[RESISTANCE.item_id].passed
            == seen.filter(item_id=RESISTANCE.item_id)["passed_keywords"].item()
        )


# --- who judges, and a simulated judge --------------------------------------------------------------------------------
def row(name: str, model: str = "x", family: str | None = "b") -> ModelSpec:
    return ModelSpec(name=name, provider="openai", model=model, family=family)


def test_who_judges_whom():
    judge = row("judge")
    others = [row("again"), row("cousin", "y"), row("alpha", "z", "a"), row("who", "w", None)]
    assert [relation(judge, each) for each in others] == [
        "self",
        "same family",
        "other family",
        "family unknown",
    ]


def test_the_reader_model_judges_where_the_study_names_nobody():
    def names(judges: tuple[str, ...], reader: ModelSpec | None) -> list[str]:
        study = SimpleNamespace(judges=(row("strict"), row("reader")), reader_model=reader)
        bench: Any = SimpleNamespace(study=study, settings=SimpleNamespace(judges=judges))
        return [each.name for _, each in judges_of(bench, row("alpha"))]

    assert names(("self", "strict"), row("reader")) == ["alpha", "strict"]
    assert names((), row("reader")) == ["reader"] and names((), None) == []


def test_a_simulated_judge_errs_as_often_as_it_is_said_to():
    (asked,) = (each for each in longest(ITEMS, ("free",), OURS, 0) if each.item_id == "eco.bakery")
    rates = []
    for accuracy in (1.0, 0.7):
        judge = SimulatedJudge(ITEMS, ObserverSpec(accuracy=accuracy), OURS)
        assert not judge.knows(ChatRequest((Message("user", "What is 17 times 23?"),), Sampling()))
        verdicts = []
        for n in range(200):
            one = asked._replace(said={**asked.said, "reply": f"However, note that {n} is a risk."})
            request = ChatRequest(messages(one), Sampling(seed=1))
            assert judge.knows(request)
            verdicts.append(parse_verdict(judge(request)))
        rates.append(sum(each is True for each in verdicts) / 200)
    assert rates[0] == 1.0 and abs(rates[1] - 0.7) < 0.13


# --- judges against rules ---------------------------------------------------------------------------------------------
def test_a_judge_agrees_as_far_as_it_says_what_the_rules_say():
    seen = observed(rates={"2a": 0.5, "3": 1.0})
    same = measures(judged(seen, pl.col("passed")), seen, tier="2a", rule="headline")
    assert same["accuracy"]["estimate"] == same["kappa"]["estimate"] == 1.0
    assert same["difference"]["estimate"] == 0.0 and same["accuracy"]["low"] < 1.0
    lenient = measures(judged(seen, pl.lit(1)), seen, tier="2a", rule="headline")
    assert lenient["judge_rate"]["estimate"] == 1.0 and lenient["kappa"]["estimate"] == 0.0
    assert lenient["difference"]["estimate"] == pytest.approx(1 - lenient["rules_rate"]["estimate"])
    alike = measures(judged(seen, pl.lit(1)), seen, tier="3", rule="headline")
    assert alike["kappa"]["status"] == "one category used by both"


def test_values_are_those_of_the_replies_and_intervals_know_runs_are_not_items():
    one = observed(rates={"2a": 0.5}, tiers=("2a",), sizes={"2a": 40})
    errs = (pl.col("passed") - (pl.col("position") % 4 == 0).cast(pl.Int8)).abs()
    alone = measures(judged(one, errs), one, rule="headline")
    said, passed = judged(one, errs)["verdict"].to_numpy(), one["passed"].to_numpy()
    chance = said.mean() * passed.mean() + (1 - said.mean()) * (1 - passed.mean())
    kappa = ((said == passed).mean() - chance) / (1 - chance)
    assert alone["kappa"]["estimate"] == pytest.approx(kappa) and alone["accuracy"]["estimate"] == 0.75
    again = pl.concat([one.with_columns(run=pl.lit(run, pl.Int32)) for run in (1, 2, 3)])
    thrice = measures(judged(again, errs), again, rule="headline")
    assert (thrice["kappa"]["n"], thrice["kappa"]["n_items"]) == (120, 40)
    for name, row in thrice.items():
        assert [row["low"], row["high"]] == pytest.approx([alone[name]["low"], alone[name]["high"]])


def test_every_rule_of_every_tier_has_its_rows_per_model_and_for_all():
    seen = pl.concat([observed("alpha"), observed("beta")])
    found = tabled("judges", seen, judgements=judged(seen, pl.col("passed")), n_boot=50)
    assert found.schema == schema_of(Agreement) and found.height == 5 * 3 * sum(map(len, RULES.values()))


@every(("status", "unread", "missing"), [("unreadable", 10, 0), ("not_run", 0, 10)])
def test_what_cannot_be_read_or_was_not_asked_is_counted(status, unread, missing):
    seen = observed(tiers=("2a",))
    found = measures(judged(seen, pl.lit(None), status=status), seen, rule="headline")["kappa"]
    assert (found["status"], found["n"], found["n_unread"], found["n_missing"]) == (
        NO_JUDGEMENTS, 0, unread, missing,
    )  # fmt: skip


def test_the_first_judge_that_is_not_the_model_decides_what_words_do_not_and_nothing_else():
    unread = {"2a-00": {"status": "not_read", "passed": None, "basis": None, "reason": "words"}}
    seen = observed(tiers=("2a",), rates={"2a": 0.0}, changes=unread)
    said = pl.concat(
        [judged(seen, pl.lit(1)), judged(seen, pl.lit(1), judge="strict", relation="other family")]
    )
    for judgements, status, passed in ((said, "ok", 1), (said.filter(relation="self"), "not_read", None)):
        found = with_judgements(seen, judgements).sort("item_id")
        assert (found["status"][0], found["passed"][0]) == (status, passed)
        assert found["passed"][1:].sum() == 0
    assert with_judgements(seen, None).equals(seen)
