"""The validity gate: whether an instrument measures what it is called, on its items and on simulated respondents.

No test of a formula sees these faults. Each rule yields a `Red` per instrument that fails it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from copy import copy
from itertools import combinations
from typing import Any, NamedTuple

import polars as pl

from metacog_pipeline.asking import tasks
from metacog_pipeline.benchmark.contract import Unit
from metacog_pipeline.benchmark.policies import Verdict, verdicts
from metacog_pipeline.conformance.case import Recorder, Tried, of_ladder, rules_of
from metacog_pipeline.scoring.comparisons import PLACE, comparisons, table
from metacog_pipeline.scoring.estimates import COVERAGE, estimates, measures_of, narrowed
from metacog_pipeline.scoring.instruments import BLIND

WHOLE = 0.95  # a rate that one fixed reply lifts to this says nothing
FEWEST = 3  # answers that it has to rest on
FIXED_REPLIES = 6  # of a call, the most frequent of those that differ in their first line
SOME = 80  # items that are answered alike: enough for a rate


class Red(NamedTuple):
    """An instrument that fails a rule."""

    rule: str
    instrument: str
    why: str

    def __str__(self) -> str:
        return f": {self.rule}: {self.instrument}: {self.why}"


def reds(tried: Tried) -> list[Red]:
    """Return what fails, by rule and instrument."""
    return [red for rule in RULES for red in rule(tried)]


def no_policy_passes_that_does_not_read_the_question(tried: Tried) -> Iterator[Red]:
    """Options, positions, challenges or another item's question alone give no more than chance."""
    probes = [*tried.gate.benchmark.probes()]
    if not probes:
        yield Red(BLIND, "probes", "probes() returns nothing; return a Probe for each scored choice")
    won: dict[str, list[Verdict]] = defaultdict(list)
    for each in verdicts(probes):
        if each.wins:
            won[each.instrument].append(each)
    for instrument, found in won.items():
        said = ", ".join(f"{each.policy} gets {each.value:.2f} of {each.n} items" for each in found)
        yield Red(BLIND, instrument, f"{said}; chance is {found[-1].chance:.2f}, up to {found[-1].high:.2f}")


def known_observers_are_in_order(tried: Tried) -> Iterator[Red]:
    """Respondents that differ in one trait are ordered by the measure that claims it, and by its tests."""
    rule, gate = "known observers", tried.gate
    measures = {each.name: each for each in measures_of(gate.benchmark)}
    claimed = {ladder.measure for ladder in gate.benchmark.ladders}
    for each in measures.values():
        if each.headline and each.name not in claimed:
            yield Red(rule, each.name, "no Ladder has it; name the trait it claims to measure")
    values = estimates(narrowed(gate.benchmark, claimed), gate.groups).filter(
        pl.col("estimate").is_not_null()
    )
    for ladder in gate.benchmark.ladders:
        low, high = of_ladder(ladder)
        better = getattr(measures.get(ladder.measure), "higher_is_better", None)
        sign = -1 if better is False else 1
        arms = {
            each.label for each in gate.groups if each.condition in (ladder.conditions or [each.condition])
        }
        own = values.filter(pl.col("condition").is_in(arms), measure=ladder.measure)
        key = ["dataset", "condition", "scoring"]
        both = own.filter(model=low).join(own.filter(model=high), on=key, suffix="_high", nulls_equal=True)
        pairs = both.select("condition", "estimate", "estimate_high").sort("condition").rows()
        wrong = [f"{a:.3f} and {b:.3f} under {label}" for label, a, b in pairs if sign * (b - a) <= 0]
        wrong += _contrary_tests(gate, ladder.measure, sign, low, high)
        if wrong or not pairs:
            pair = f"{ladder.parameter} {ladder.low} and {ladder.high}"
            yield Red(rule, ladder.measure, f"{pair} give {'; '.join(wrong) or 'no value'}")


def _contrary_tests(gate: Tried, measure: str, sign: int, low: str, high: str) -> Iterator[str]:
    """Yield the families that answer a question by a significant test with ``low`` above ``high``."""
    narrow = copy(gate.benchmark)
    answering = {family for family, of in (each.primary for each in narrow.questions) if of == measure}
    # What rests on one model compares no two.
    own = (each for each in narrow.contrasts if each.family in answering and not each.by_model)
    narrow.contrasts = tuple(own)  # type: ignore[misc]
    tests = comparisons(narrow, [group for group in gate.groups if group.model in (low, high)])
    told = tests.filter(pl.col("value").is_not_null(), measure=measure, verdict="significant")
    for family, a, b, value in told.select("family", "a", "b", "value").iter_rows():
        if (a, b) == ((low, high) if sign * value > 0 else (high, low)):
            yield f"a significant test of {family} the other way round"


def words_of_a_board_agree(tried: Tried) -> Iterator[Red]:
    """Families do not contradict each other on a measure of one pair, and words that exclude each other are not given."""
    rule = "contrary words"
    said: dict[tuple[Any, ...], tuple[str, str]] = {}
    tests = tried.comparisons.filter(pl.col("verdict").is_in(["significant", "negligible"]))
    for row in tests.iter_rows(named=True):
        directed = row["value"] is not None and row["verdict"] == "significant"
        word = f"{row['value'] > 0}" if directed else row["verdict"]
        about = tuple(row[name] for name in ("measure", *PLACE))
        family, other = said.setdefault(about, (row["family"], word))
        if other != word:
            yield Red(rule, row["measure"], f"{family} and {row['family']} say opposite things of {row['a']}")
    frames = [tried.comparisons.select("model", "verdict")]
    for each in tried.benchmark.tables if tried.benchmark.contrary else ():
        made = table(tried.benchmark, each, tried.everything)[0].select(pl.col(pl.String))
        frames += [made] if "model" in made.columns else []
    words: dict[str, set[str]] = defaultdict(set)
    for row in (row for frame in frames for row in frame.iter_rows(named=True)):
        words[row["model"]] |= {each for each in row.values() if each is not None}
    for model, pair in ((model, pair) for model in words for pair in tried.benchmark.contrary):
        if set(pair) <= words[model]:
            yield Red(rule, " and ".join(pair), f"both describe {model}")


def the_same_content_gets_the_same_score(tried: Tried) -> Iterator[Red]:
    """A reply is read, and judged, alike under all conditions that ask for it alike."""
    benchmark, rule = tried.benchmark, "one content, one score"
    contents = {condition.name: condition.content for condition in benchmark.conditions()}
    model, frame = next(iter(tried.transcripts.items()))
    items = {name: {each.item_id for each in own} for name, own in tasks.asked(benchmark)}
    for one, two in combinations(items, 2):
        asked_alike = benchmark.steps(one) == benchmark.steps(two) and contents[one] == contents[two]
        bases = (each.bases for each in measures_of(benchmark))
        if not asked_alike or any(each.get(one) != each.get(two) for each in bases):
            continue
        kept = frame.filter(pl.col("item_id").is_in([*(items[one] & items[two])]), condition=one)
        renamed = {name: {model: kept.with_columns(condition=pl.lit(name))} for name in (one, two)}
        own, moved = (tried.read(given, [name], [*kept["item_id"]]) for name, given in renamed.items())
        columns = [each for each in ("status", "correct", *benchmark.coded) if each in own.columns]
        unlike = [each for each in columns if own[each].to_list() != moved[each].to_list()]
        if unlike:
            yield Red(rule, f"{one}, {two}", f"the same replies differ in {', '.join(unlike)}")
        elif _judged(tried, own) != _judged(tried, own.with_columns(condition=pl.lit(two))):
            yield Red(rule, f"{one}, {two}", "judges are asked otherwise about the same replies")


def _judged(tried: Tried, responses: pl.DataFrame) -> list[Any]:
    """Return the requests to a judge about some responses."""
    wanted, judge = tried.benchmark.judging, tried.study.models[0]
    asked = wanted.tasks(tried.benchmark, judge, responses) if wanted is not None else ()
    chats = [Recorder(judge) for _ in asked]

    async def ask() -> None:
        for chat, task in zip(chats, asked, strict=True):
            await task.run(chat, "text")

    asyncio.run(ask())
    return [chat.requests for chat in chats]


def who_lacks_an_answer_has_a_row_that_says_so(tried: Tried) -> Iterator[Red]:
    """With one answer missing, a model is in every test it was in, or in a row with the reason."""
    model = next(iter(tried.transcripts))
    (condition, items), *_ = tasks.asked(tried.benchmark)
    without = (pl.col("item_id") != items[0].item_id) | (pl.col("condition") != condition)
    answers = {**tried.transcripts, model: tried.transcripts[model].filter(without)}
    lacking = tried.derived(tried.read(answers))
    found = comparisons(tried.benchmark, tried.grouped(lacking))

    def names(value: str, *columns: str) -> pl.Expr:
        return pl.any_horizontal(pl.col(name) == value for name in columns).fill_null(False)

    mine = names(model, "a", "b", "model")
    here = (pl.col("condition").fill_null(condition) == condition) | names(condition, "a", "b")
    tested = mine & here & pl.any_horizontal(pl.col("value", "p").is_not_null())
    left_out = (pl.col("n_left_out") > 0).fill_null(False)
    said = pl.col("note").is_not_null() | (pl.col("status") != "ok") | left_out
    for (family,), rows in tried.comparisons.filter(tested).group_by("family", maintain_order=True):
        if not found.filter(mine, said, family=family).height:
            why = f"{rows.height} tests of a model, and none says that an answer is missing"
            yield Red("left out", str(family), why)


def no_fixed_reply_lifts_a_rate(tried: Tried) -> Iterator[Red]:
    """A rate that one reply to everything lifts above an honest respondent's has its false alarms, d' and criterion."""
    gate = tried.gate
    shares = [each for each in measures_of(gate.benchmark) if each.unit is Unit.SHARE and not each.hit_rate]
    rates = {each.name for each in shares if each.higher_is_better} - {COVERAGE.name}
    narrow, (model, honest) = narrowed(gate.benchmark, rates), next(iter(gate.transcripts.items()))

    def measured(answers: pl.DataFrame) -> pl.DataFrame:
        items = answers["item_id"].unique().to_list()
        read = gate.derived(gate.read({model: answers}, answers["condition"].unique().to_list(), items))
        found = estimates(narrow, gate.grouped(read))
        return found.filter(pl.col("measure").is_in(rates), pl.col("n") >= FEWEST)

    def lifted(answers: pl.DataFrame, usual: pl.DataFrame, step: str, text: str) -> set[tuple[str, ...]]:
        told = pl.when(pl.col("step") == step).then(pl.lit(text)).otherwise("text")
        both = measured(answers.with_columns(text=told)).join(usual, on=key, suffix="_honest")
        above = both.filter(pl.col("estimate") >= WHOLE, pl.col("estimate") > pl.col("estimate_honest"))
        return {*above.select(key).iter_rows()}

    raised, key = set[str](), ["dataset", "condition", "measure"]
    for (step,), asked in honest.group_by("step", maintain_order=True):
        every = asked["item_id"].unique(maintain_order=True)
        some = every.gather_every(max(1, len(every) // SOME))
        own = honest.filter(pl.col("condition").is_in(asked["condition"].unique()))
        one, two = (own.filter(pl.col("item_id").is_in(some[start::2])) for start in (0, 1))
        usual = measured(one)
        for text in _kinds_of_reply(asked):
            found = lifted(one, usual, str(step), text)
            # In both halves of the items: a reply that happens to be right once is no way to lift a rate.
            found &= lifted(two, measured(two), str(step), text) if found else set()
            for measure in sorted({measure for *_, measure in found} - raised):
                raised.add(measure)
                yield Red("hit rate alone", measure, f"the reply {text[:30]!r} to everything lifts it to 1")


def _kinds_of_reply(calls: pl.DataFrame) -> list[str]:
    """Return the most frequent replies, confidence aside: they differ in their first line."""
    times = calls["text"].value_counts().sort("count", "text", descending=[True, False])
    first = pl.col("text").str.split("\n").list.first()
    return times.unique(first, keep="first", maintain_order=True)["text"].head(FIXED_REPLIES).to_list()


RULES = rules_of(globals())
