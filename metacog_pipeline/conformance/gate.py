"""The validity gate: whether an instrument measures what it is called, on its items and on simulated respondents.

No test of a formula sees these faults: an instrument that is passed without reading the question, respondents that differ
in a trait and come out in the wrong order, one content with two scores, a model that leaves a test without a row, a rate
that anybody raises by saying yes. Each rule yields a `Red` per instrument that fails it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import polars as pl

from metacog_pipeline.asking import tasks
from metacog_pipeline.benchmark import policies
from metacog_pipeline.benchmark.contract import Unit
from metacog_pipeline.conformance.case import ENDS, Tried, rehearsed_task
from metacog_pipeline.conformance.checks import checks_of
from metacog_pipeline.scoring.comparisons import PLACE, comparisons, table
from metacog_pipeline.scoring.estimates import COVERAGE, estimates, groups_of, measures_of, narrowed
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


def reds(tried: Tried) -> list[Red]:
    """Return what fails, by rule and instrument."""
    return [red for check in CHECKS for red in check.rule(tried)]  # type: ignore[attr-defined]


def no_policy_passes_that_does_not_read_the_question(tried: Tried) -> Iterator[Red]:
    """Options, positions, challenges or another item's question alone give no more than chance."""
    rule, found = BLIND, defaultdict(list)
    probes = [*tried.gate.benchmark.probes()]
    if not probes:
        yield Red(rule, "probes", "probes() returns nothing; return a Probe for each scored choice")
    for each in policies.verdicts(probes):
        if each.wins:
            found[each.instrument].append(f"{each.policy} gets {each.value:.2f} of {each.n} items")
            end = f"; chance is {each.chance:.2f}, up to {each.high:.2f}"
    for instrument, won in found.items():
        yield Red(rule, instrument, f"{', '.join(won)}{end}")


def known_observers_are_in_order(tried: Tried) -> Iterator[Red]:
    """Respondents that differ in one trait are ordered by the measure that claims it, and by its tests."""
    rule, gate = "known observers", tried.gate
    signs = {each.name: -1 if each.higher_is_better is False else 1 for each in measures_of(gate.benchmark)}
    claimed = {ladder.measure for ladder in gate.benchmark.ladders}
    for each in measures_of(gate.benchmark):
        if each.headline and each.name not in claimed:
            yield Red(rule, each.name, "no Ladder has it; name the trait it claims to measure")
    narrow = narrowed(gate.benchmark, claimed)
    values = estimates(narrow, groups_of(narrow, gate.scored, by_run=False))
    for place, ladder in enumerate(gate.benchmark.ladders):
        low, high = (f"{end}-{place}" for end in ENDS)
        wrong, known, sign = [], 0, signs.get(ladder.measure, 1)
        own = values.filter(pl.col("estimate").is_not_null(), measure=ladder.measure)
        for group in gate.groups:
            if group.model != low or (ladder.conditions and group.condition not in ladder.conditions):
                continue
            here = own.filter(dataset=group.dataset, condition=group.label)
            ends = {row["model"]: row["estimate"] for row in here.iter_rows(named=True)}
            if low in ends and high in ends:
                known += 1
                if sign * (ends[high] - ends[low]) <= 0:
                    wrong.append(f"{ends[low]:.3f} and {ends[high]:.3f} under {group.label}")
        both = [group for group in gate.groups if group.model in (low, high)]
        answering = {one for one, of in (each.primary for each in narrow.questions) if of == ladder.measure}
        bearing = (each for each in gate.benchmark.contrasts if each.family in answering)
        narrow.contrasts = tuple(bearing)  # type: ignore[misc]
        wrong += _contrary(comparisons(narrow, both), ladder.measure, sign, low, high)
        pair = f"{ladder.parameter} {ladder.low} and {ladder.high}"
        if wrong or not known:
            yield Red(rule, ladder.measure, f"{pair} give {'; '.join(wrong) or 'no value'}")


def _contrary(tests: pl.DataFrame, measure: str, sign: int, low: str, high: str) -> Iterator[str]:
    """Yield significant tests that put ``low`` above ``high``."""
    for row in tests.filter(measure=measure, verdict="significant").iter_rows(named=True):
        if {row["a"], row["b"]} == {low, high} and row["value"] is not None:
            ahead = sign * row["value"] > 0
            if ahead == (row["a"] == low):
                yield f"a significant test of {row['family']} the other way round"


def words_of_a_board_agree(tried: Tried) -> Iterator[Red]:
    """Families do not contradict each other on a measure of one pair, and words that exclude each other are not given."""
    rule = "contrary words"
    said: dict[tuple[Any, ...], tuple[str, str]] = {}
    tests = tried.comparisons.filter(pl.col("verdict").is_in(["significant", "negligible"]))
    for row in tests.iter_rows(named=True):
        value = row["value"]
        word = row["verdict"] if value is None or row["verdict"] != "significant" else f"{value > 0}"
        family, other = said.setdefault(
            tuple(row[name] for name in ("measure", *PLACE)), (row["family"], word)
        )
        if other != word:
            yield Red(rule, row["measure"], f"{family} and {row['family']} say opposite things of {row['a']}")
    for model, words in _words(tried).items():
        for pair in tried.benchmark.contrary:
            if set(pair) <= words:
                yield Red(rule, " and ".join(pair), f"both describe {model}")


def _words(tried: Tried) -> dict[str, set[str]]:
    """Return what the tests and own tables say of each respondent in words."""
    frames = [tried.comparisons.select("model", "verdict")]
    for each in tried.benchmark.tables if tried.benchmark.contrary else ():
        made, _ = table(tried.benchmark, each, tried.everything)
        texts = [name for name, kind in made.schema.items() if kind == pl.String]
        frames += [made.select(texts)] if "model" in texts else []
    found: dict[str, set[str]] = defaultdict(set)
    for frame in frames:
        for row in frame.iter_rows(named=True):
            found[row["model"]] |= {each for each in row.values() if each is not None}
    return found


def the_same_content_gets_the_same_score(tried: Tried) -> Iterator[Red]:
    """A reply is read, and judged, alike under all conditions that ask for it alike."""
    benchmark, rule = tried.benchmark, "one content, one score"
    contents = {condition.name: condition.content for condition in benchmark.conditions()}
    model, frame = next(iter(tried.transcripts.items()))
    items = {name: {each.item_id for each in own} for name, own in tasks.asked(benchmark)}
    for one, two in combinations(items, 2):
        asked_alike = benchmark.steps(one) == benchmark.steps(two) and contents[one] == contents[two]
        if not asked_alike or _bases_differ(benchmark, one, two):
            continue
        kept = frame.filter(pl.col("item_id").is_in([*items[one] & items[two]]), condition=one)
        own, moved = (
            tried.read({model: kept.with_columns(condition=pl.lit(name))}, [name]).filter(
                pl.col("item_id").is_in(kept["item_id"].to_list())
            )
            for name in (one, two)
        )
        columns = [each for each in ("status", "correct", *benchmark.coded) if each in own.columns]
        unlike = [each for each in columns if own[each].to_list() != moved[each].to_list()]
        if unlike:
            yield Red(rule, f"{one}, {two}", f"the same replies differ in {', '.join(unlike)}")
        elif _judged_unlike(tried, own, two):
            yield Red(rule, f"{one}, {two}", "judges are asked otherwise about the same replies")


def _bases_differ(benchmark: Any, one: str, two: str) -> bool:
    return any(each.bases.get(one, "") != each.bases.get(two, "") for each in measures_of(benchmark))


def _judged_unlike(tried: Tried, own: pl.DataFrame, other: str) -> bool:
    """Whether a judge is asked in other words about the same replies, called those of condition ``other``."""
    wanted, judge = tried.benchmark.judging, tried.study.models[0]
    if wanted is None:
        return False
    asked = [
        [rehearsed_task(each, judge) for each in wanted.tasks(tried.benchmark, judge, frame)]
        for frame in (own, own.with_columns(condition=pl.lit(other)))
    ]
    return asked[0] != asked[1]


def contrasts_compare_columns_of_one_basis(tried: Tried) -> Iterator[Red]:
    """Rows that set conditions against each other are of columns scored alike."""
    bases = {each.name: each.bases for each in measures_of(tried.benchmark)}
    there = {condition.name for condition in tried.benchmark.conditions()}
    rows = tried.comparisons.filter(pl.col("a").is_in(there), pl.col("b").is_in(there))
    for family, measure, a, b in (
        rows.select("family", "measure", "a", "b").unique(maintain_order=True).iter_rows()
    ):
        own = bases.get(measure, {})
        if own.get(a, "") != own.get(b, ""):
            yield Red("one basis", f"{family} {measure}", f"{a} and {b} are scored by different rules")


def who_lacks_an_answer_has_a_row_that_says_so(tried: Tried) -> Iterator[Red]:
    """With one answer missing, a model is in every test it was in, or in a row with the reason."""
    rule, model = "left out", tried.partitions[0].spec.name
    (condition, items), *_ = tasks.asked(tried.benchmark)
    without = (pl.col("item_id") != items[0].item_id) | (pl.col("condition") != condition)
    answers = {**tried.transcripts, model: tried.transcripts[model].filter(without)}
    lacking = tried.derived(tried.read(answers))
    found = comparisons(tried.benchmark, groups_of(tried.benchmark, lacking, by_run=False))
    mine = pl.any_horizontal(pl.col(name) == model for name in ("a", "b", "model")).fill_null(False)
    where = pl.col("condition").fill_null(condition) == condition
    here = where | pl.any_horizontal(pl.col(name) == condition for name in ("a", "b")).fill_null(False)
    tested = here & pl.any_horizontal(pl.col(name).is_not_null() for name in ("value", "p"))
    said = (
        pl.col("note").is_not_null()
        | (pl.col("status") != "ok")
        | (pl.col("n_left_out") > 0).fill_null(False)
    )
    for (family,), rows in tried.comparisons.filter(mine & tested).group_by("family", maintain_order=True):
        own = found.filter(mine, family=family)
        if not own.filter(said).height:
            yield Red(
                rule, str(family), f"{rows.height} tests of a model, and none says that an answer is missing"
            )


def no_fixed_reply_lifts_a_rate(tried: Tried) -> Iterator[Red]:
    """A rate that one reply to everything lifts above an honest respondent's has its false alarms, d' and criterion."""
    gate = tried.gate
    rates = {
        each.name
        for each in measures_of(gate.benchmark)
        if each.unit is Unit.SHARE
        and each.higher_is_better
        and each.hit_rate is None
        and each.name != COVERAGE.name
    }
    narrow, model = narrowed(gate.benchmark, rates), gate.partitions[0].spec.name
    every = [each.item_id for each in gate.benchmark.items]
    some, key = every[:: max(1, len(every) // SOME)], ["dataset", "condition", "measure", "half"]

    def measured(answers: pl.DataFrame) -> pl.DataFrame:
        read = gate.derived(gate.read({model: answers}, items=some))
        halves = [read.filter(pl.col("item_id").is_in(some[start::2])) for start in (0, 1)]
        made = (estimates(narrow, groups_of(narrow, each, by_run=False)) for each in halves)
        found = pl.concat(each.with_columns(half=pl.lit(place)) for place, each in enumerate(made))
        return found.filter(pl.col("measure").is_in(rates))

    honest = measured(gate.transcripts[model])
    raised: set[str] = set()
    for text, answers in _fixed(gate.transcripts[model]):
        both = measured(answers).filter(pl.col("n") >= FEWEST).join(honest, on=key, suffix="_honest")
        lifted = both.filter(pl.col("estimate") >= WHOLE, pl.col("estimate") > pl.col("estimate_honest"))
        # In both halves of the items: a reply that happens to be right once is no way to lift a rate.
        lifted = lifted.filter(pl.len().over(key[:3]) == 2)
        for measure in sorted({*lifted["measure"]} - raised):
            yield Red("hit rate alone", measure, f"the reply {text[:30]!r} to everything lifts it to 1")
        raised |= {*lifted["measure"]}


def _fixed(answers: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the answers with one call of every item answered alike, for each of the most frequent replies to it."""
    for step in answers["step"].unique(maintain_order=True):
        here = pl.col("step") == step
        texts = (
            answers.filter(here)["text"]
            .value_counts()
            .sort("count", "text", descending=[True, False])["text"]
        )
        kinds = {text.partition("\n")[0]: text for text in reversed(texts.to_list())}  # confidence aside
        for text in [*reversed(kinds.values())][:FIXED_REPLIES]:
            yield text, answers.with_columns(text=pl.when(here).then(pl.lit(text)).otherwise("text"))


def _said(found: list[Red]) -> str:
    return f": {found[0].rule}: " + "; ".join(f"{each.instrument}: {each.why}" for each in found)


CHECKS = checks_of(__name__, _said)
