"""The rules of the contract: each yields what does not hold of a class, from its name on, and what to do about it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.benchmark.contract import Stage
from metacog_pipeline.conformance.case import Recorder, Tried, rules_of
from metacog_pipeline.llm.types import ChatRequest
from metacog_pipeline.scoring import estimates as scoring
from metacog_pipeline.scoring.comparisons import VERDICTS, failures_in, table
from metacog_pipeline.scoring.estimates import measures_of

SOME_ITEMS = 3  # of those looked at one by one
#: Replies no benchmark may choke on: empty, broken JSON, control characters, other scripts, very long, nested.
HOSTILE = (
    "", " ", "\x00", "{", '{"answer":', "[]", "null", "NaN", "-", "42", "yes no yes", "```json\n{}\n```",
    "\u202eabc", "答案是北京", "<script>alert(1)</script>", "%s %d {0} {answer}", "a" * 100_000, "[" * 20_000,
    "<think>unfinished", "I cannot help with that.", "1e400", "A\nB\nC",
)  # fmt: skip


# --- what is declared -------------------------------------------------------------------------------------------------
def what_readers_see_is_described(tried: Tried) -> Iterator[str]:
    """Boards, the report, the graph and the dictionary are written from titles and words."""
    benchmark, measures = tried.benchmark, measures_of(tried.benchmark)
    if lacking := [each.name for each in measures if not (each.label and each.words)]:
        yield f": measure {', '.join(lacking)} says nothing; describe it in a sentence"
    heads = [measure.name for measure in measures if measure.headline]
    if len(heads) != 1:
        yield f": {len(heads)} headline measures ({heads}); mark exactly one with headline=True"
    named = {name for each in benchmark.board.columns for name in each.measures}
    if unknown := sorted(named.union(*benchmark.board.order) - {measure.name for measure in measures}):
        yield f".board names {', '.join(unknown)}, which is no measure; declare it or leave it out"


def every_setting_says_which_stage_it_makes_stale(tried: Tried) -> Iterator[str]:
    """Otherwise a changed key changes nothing."""
    settings = tried.benchmark.settings
    known = {name for stage in Stage for name in settings.affecting(stage)}
    if loose := sorted(set(type(settings).model_fields) - known - {"enabled", "reask_unreadable"}):
        yield f".Settings: {', '.join(loose)}: no stage; declare with setting(Stage.…, default)"


# --- items ------------------------------------------------------------------------------------------------------------
def items_are_the_same_at_another_place(tried: Tried) -> Iterator[str]:
    """An item whose hash changes is asked, and paid for, again."""
    for item in tried.benchmark.items[:SOME_ITEMS]:
        if item.model_copy(update={"position": item.position + 1000}).item_hash != item.item_hash:
            yield f": item_hash of {item.item_id} changes with its position; leave it out of asked_and_scored_by"


# --- asking and reading -----------------------------------------------------------------------------------------------
def _some(tried: Tried) -> Iterator[tuple[Any, str]]:
    for condition, items in tasks.asked(tried.benchmark):
        yield from ((item, condition) for item in items[:SOME_ITEMS])


def _asked(tried: Tried) -> Iterator[tuple[Any, str, list[ChatRequest]]]:
    for item, condition in _some(tried):
        chat = Recorder(tried.study.models[0])
        asyncio.run(tried.benchmark.ask(item, condition, chat))
        yield item, condition, chat.requests


def items_are_asked_as_declared(tried: Tried) -> Iterator[str]:
    """`steps` is what plans, progress and readers go by; an answer belongs to one item under one condition."""
    benchmark, seen = tried.benchmark, dict[object, str]()
    names = [name for name, _ in tasks.asked(benchmark)]
    if len(set(names)) < len(names):
        yield f": a condition is named twice: {', '.join(names)}"
    for item, condition, requests in _asked(tried):
        said, made = benchmark.steps(condition), [request.step for request in requests]
        if not made or not set(made) <= set(said):
            yield f": item {item.item_id} under {condition} was asked {made}; steps() says {said}: make them agree"
        key = (condition, tuple(request.messages for request in requests))
        if (other := seen.setdefault(key, item.item_id)) != item.item_id:  # they would share one answer
            yield f": items {other} and {item.item_id} are asked alike under {condition}"


def nothing_is_made_or_asked_twice(tried: Tried) -> Iterator[str]:
    """Answers cost money."""
    if stale := construction.stale_steps(tried.benchmark):
        yield f": after a build {', '.join(stale)} is stale again; Step.inputs must be equal for equal files"
    if [*_asked(tried)] != [*_asked(tried)]:
        yield ": the same items are asked otherwise a second time; word requests by item, condition and seed only"
    for each in tasks.partitions(tried.benchmark):
        if tasks.fingerprint(tried.benchmark, each) != tasks.fingerprint(tried.benchmark, each):
            yield ".prompt_digest gives something else each time; return digests of wording files"


def any_calls_can_be_read(tried: Tried) -> Iterator[str]:
    """Models write anything; an item without a call, or whose calls failed, has no answer."""
    benchmark, (model, calls) = tried.benchmark, next(iter(tried.transcripts.items()))
    some = [each.item_id for each in benchmark.items[:SOME_ITEMS]]
    nothing = {"no calls": calls.clear(), "failed calls": calls.with_columns(status=pl.lit("failed"))}
    cases = nothing | {
        f"a {end} reply": calls.with_columns(status=pl.lit(end)) for end in ("truncated", "refused")
    }
    cases |= {f"the reply {text[:20]!r}": calls.with_columns(text=pl.lit(text)) for text in HOSTILE}
    for what, given in cases.items():
        known = [*benchmark.unanswered, *(() if what in nothing else ("ok", *benchmark.unreadable))]
        silent = (pl.col("status") != "ok") & (pl.col("reason").fill_null("") == "")
        # A reader that fails leaves a status of its own.
        odd = tried.read({model: given}, items=some).filter(~pl.col("status").is_in(known) | silent)
        for where in odd.select("item_id", "condition", "status", "reason").iter_rows():
            said = "{} under {} is {}: {}".format(*where)
            yield f".parse: {what} of item {said}; return a status of {', '.join(known)}, with the reason"


# --- scoring ----------------------------------------------------------------------------------------------------------
def measures_tests_and_tables_give_numbers_or_a_status(tried: Tried) -> Iterator[str]:
    """On all items, one item, no item, all right and all wrong; a value outside its range is an error of the program."""
    frame, benchmark = tried.scored, tried.benchmark
    cases = {
        "all responses": frame,
        "one item": frame.filter(pl.col("item_id") == frame["item_id"][0]),
        "no answer": frame.with_columns(status=pl.lit(benchmark.unanswered[0])),
    }
    for right in (0, 1) if "correct" in frame.columns else ():
        cases[f"every response {right}"] = frame.with_columns(correct=pl.lit(right, frame.schema["correct"]))
    made = {what: scoring.estimates(benchmark, tried.grouped(own)) for what, own in cases.items()}
    for what, found in {**made, "its contrasts": tried.comparisons}.items():
        if failed := failures_in(found):
            yield f": with {what}, {failed[0]} failed; return an Estimate or a Comparison whose status says why"
    for each in benchmark.tables:
        _, why = table(benchmark, each, tried.everything)
        if why is not None:
            yield f": table {each.name} failed: {why}"
    yield from (f": {line}" for line in scoring.outside_range(tried.estimates))
    if odd := sorted({*tried.comparisons.filter(~pl.col("p").is_between(0, 1))["family"]}):
        yield f": p of {', '.join(odd)} is not between 0 and 1"
    declared = {each.name for each in measures_of(benchmark)}
    if loose := sorted(set(tried.estimates["measure"]) - declared):
        yield f": measure {', '.join(loose)} is on the table but not declared in measures"
    if not made["all responses"].equals(tried.estimates):
        yield ": a second scoring gave other numbers; draw with benchmark.stream()"


def measures_rest_on_what_they_declare(tried: Tried) -> Iterator[str]:
    """A number rests on as many answers, or items, as its measure declares."""
    every = measures_of(tried.benchmark)
    declared = {each.name: each for each in every if len(each.basis) > (each.only is not None)}
    for group in tried.groups:
        own = tried.estimates.filter(condition=group.label, model=group.model, dataset=group.dataset)
        for name, n in own.filter(pl.col("n") > 0).select("measure", "n").iter_rows():
            if name in declared:
                behind = scoring.answers_behind(tried.benchmark, group.rows, declared[name])
                found = scoring.basis_of(behind, declared[name])
                if n not in (found.n, found.n_items):
                    yield f": measure {name} has n {n}, and its rests_on names {found.n} answers; correct either"


def every_test_belongs_to_a_question_with_one_primary_test(tried: Tried) -> Iterator[str]:
    """Of many tests of one question the one that answers it is named beforehand."""
    questions = tried.benchmark.questions
    # A question of the verdict may take another measure of a family that answers a question of the benchmark.
    own = Counter(family for each in questions if each.verdict is None for family in set(each.families))
    if twice := sorted(family for family, times in own.items() if times > 1):
        yield f".questions: {', '.join(twice)} bears on two questions; choose one"
    tests = tried.comparisons.filter(pl.col("p").is_not_null() | pl.col("verdict").is_in(VERDICTS))
    if loose := sorted(set(tests["family"]) - {family for each in questions for family in each.families}):
        yield f".questions: no Question names the family {', '.join(loose)}; add it to one"
    failed = pl.col("status").str.starts_with(scoring.FAILED).fill_null(False)  # said by another rule
    made = set(tried.comparisons.filter(~failed).select("family", "measure").iter_rows())
    absent = (each.primary for each in questions if each.primary not in made)
    if missing := [f"{of} of {measure}" for of, measure in absent if of in {family for family, _ in made}]:
        yield f".questions: {', '.join(missing)} is made by no contrast; name a test there is"
    if not (tests["n_tests"] > 0).all():
        yield ": a test has no family; let Contrast.within name columns of its rows"


RULES = rules_of(globals())
