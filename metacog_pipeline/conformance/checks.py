"""The rules of the contract: each yields what does not hold of a class, from its name on, and what to do about it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

import polars as pl

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.benchmark.contract import Call, Stage
from metacog_pipeline.benchmark.item_files import items_path
from metacog_pipeline.conformance.case import Broken, Recorder, Tried, held
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling
from metacog_pipeline.scoring import estimates as scoring
from metacog_pipeline.scoring.comparisons import VERDICTS, as_table, failures_in, table
from metacog_pipeline.scoring.estimates import measures_of
from metacog_pipeline.scoring.harmonised import harmonised
from metacog_pipeline.scoring.printed import fitted
from metacog_pipeline.scoring.schemas import PUBLISHED_CLAIM, PUBLISHED_VALUE

SOME_ITEMS = 3  # of those looked at one by one
STATUSES = ("ok", "truncated", "refused")  # of replies
#: Replies no benchmark may choke on: empty, broken JSON, control characters, other scripts, very long, nested.
HOSTILE = (
    "", " ", "\x00", "{", '{"answer":', "[]", "null", "NaN", "-", "42", "yes no yes", "```json\n{}\n```",
    "\u202eabc", "答案是北京", "<script>alert(1)</script>", "%s %d {0} {answer}", "a" * 100_000, "[" * 20_000,
    "<think>unfinished", "I cannot help with that.", "\ud800", "1e400", "A\nB\nC",
)  # fmt: skip
#: By kind of printed number: its schema, and what every row has. The board leaves out all rows where one lacks it.
PRINTED = {
    "values": (PUBLISHED_VALUE, ("place", "dataset", "measure")),
    "claims": (PUBLISHED_CLAIM, ("place", "subject", "quantity", "method", "verdict")),
}
_ELSEWHERE = """
import pkgutil, sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from metacog_pipeline.benchmark.item_files import read_rows
read_rows(Path(sys.argv[1]), pkgutil.resolve_name(sys.argv[2]))
"""


# --- what is declared -------------------------------------------------------------------------------------------------
def what_readers_see_is_described(tried: Tried) -> Iterator[str]:
    """Boards, the report, the graph and the dictionary are written from titles and words."""
    benchmark, measures = tried.benchmark, measures_of(tried.benchmark)
    lacking = [f"its {name}" for name in ("title", "paper") if not getattr(benchmark, name, None)]
    lacking += [f"measure {each.name}" for each in measures if not (each.label and each.words)]
    lacking += [f"table {each.name}" for each in benchmark.tables if not each.says]
    lacking += [f"step {each.name}" for each in benchmark.construction() if not each.says]
    if lacking:
        yield f": {', '.join(lacking)} is missing or says nothing; describe it in a sentence"
    heads = [measure.name for measure in measures if measure.headline]
    if len(heads) != 1:
        yield f": {len(heads)} headline measures ({heads}); mark exactly one with headline=True"
    named = {name for each in benchmark.board.columns for name in each.measures}
    if unknown := sorted(named.union(*benchmark.board.order) - {measure.name for measure in measures}):
        yield f".board names {', '.join(unknown)}, which is no measure; declare it or leave it out"


def every_setting_says_which_stage_it_makes_stale(tried: Tried) -> Iterator[str]:
    """Otherwise a changed key changes nothing."""
    cls = tried.benchmark.Settings
    known = {name for stage in Stage for name in tried.benchmark.settings.affecting(stage)}
    if loose := sorted(set(cls.model_fields) - known - {"enabled", "reask_unreadable"}):
        yield f".Settings: {', '.join(loose)}: no stage; declare with setting(Stage.…, default)"
    if not cls.model_config.get("frozen") or cls.model_config.get("extra") != "forbid":
        yield ".Settings must stay frozen and forbid unknown keys"


# --- items ------------------------------------------------------------------------------------------------------------
def items_are_the_same_at_another_place_or_in_another_process(tried: Tried) -> Iterator[str]:
    """They are asked in the order of position; an item whose hash changes is asked, and paid for, again."""
    benchmark = tried.benchmark
    places = [(getattr(item, "task", None), item.position) for item in benchmark.items]
    if len(set(places)) < len(places):
        yield ": positions repeat; number items from 0 in the order of asking, or those of each task"
    for item in benchmark.items[:SOME_ITEMS]:
        if item.model_copy(update={"position": item.position + 1000}).item_hash != item.item_hash:
            yield f": item_hash of {item.item_id} changes with its position; leave it out of asked_and_scored_by"
    kept, row = items_path(benchmark.context.home, benchmark.name), benchmark.Item
    done = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, str(kept), f"{row.__module__}:{row.__qualname__}", *sys.path],
        capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "PYTHONHASHSEED": "7"},
    )  # fmt: skip
    if done.returncode:
        said = done.stderr.strip()[-300:]
        yield f": its items cannot be read in another process; sort sets and use no hash() or id(): {said}"


def construction_is_a_graph_that_is_built_once(tried: Tried) -> Iterator[str]:
    """Each step is an asset whose edges are the steps it needs; stale is what depends on something that changed."""
    seen: set[str] = set()
    for step in tried.benchmark.construction():
        if unknown := set(step.needs) - seen:
            yield f": step {step.name} needs {', '.join(unknown)}, which no earlier step is called"
        seen.add(step.name)
    if stale := construction.stale_steps(tried.benchmark):
        yield f": after a build {', '.join(stale)} is stale again; Step.inputs must be equal for equal files"


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
    """`steps` is what plans, progress and readers go by; the simulated server finds by a request what it is about."""
    benchmark, asked = tried.benchmark, tasks.asked(tried.benchmark)
    if len({name for name, _ in asked}) < len(asked):
        yield f": a condition is named twice: {', '.join(name for name, _ in asked)}"
    if empty := [name for name, items in asked if not items]:
        yield f": condition {', '.join(empty)} asks no item; leave it out of conditions()"
    observer, seen = benchmark.observer(tried.study.models[0].observer), dict[object, str]()
    if observer.knows(ChatRequest((Message("user", "What is the weather on the moon today?"),), Sampling())):
        yield ": the observer claims to know any request; look for its items"
    for item, condition, requests in _asked(tried):
        said, made = benchmark.steps(condition), [request.step for request in requests]
        if not made or not set(made) <= set(said):
            yield f": item {item.item_id} under {condition} was asked {made}; steps() says {said}: make them agree"
        elif not observer.knows(requests[0]):
            yield f": the observer does not know item {item.item_id} under {condition}; find it by the text"
        key = (condition, tuple(request.messages for request in requests))
        if (other := seen.setdefault(key, item.item_id)) != item.item_id:  # they would share one answer
            yield f": items {other} and {item.item_id} are asked alike under {condition}"


def nothing_is_asked_twice(tried: Tried) -> Iterator[str]:
    """Answers cost money."""
    if [*_asked(tried)] != [*_asked(tried)]:
        yield ": the same items are asked otherwise a second time; word requests by item, condition and seed only"
    for each in tasks.partitions(tried.benchmark):
        if tasks.fingerprint(tried.benchmark, each) != tasks.fingerprint(tried.benchmark, each):
            yield ".prompt_digest gives something else each time; return digests of wording files"


def any_calls_can_be_read(tried: Tried) -> Iterator[str]:
    """Models write anything; an item without a call, or whose calls failed, has no answer."""
    benchmark = tried.benchmark
    statuses = {"ok", *benchmark.unanswered, *benchmark.unreadable}
    replies = {
        f"the {status} reply {text[:20]!r}": Call(status, text) for status in STATUSES for text in HOSTILE
    }
    cases = {"no calls": None, "failed calls": Call("failed", "", error="no connection"), **replies}
    for (item, condition), what in product(_some(tried), cases):
        call, where = cases[what], f"{what} of item {item.item_id} under {condition}"
        to_do = f"for {where} return a Response whose status is one of unreadable and whose reason says why"
        with held(f"{tried.name}.parse", to_do):
            read = benchmark.parse(
                item, condition, dict.fromkeys(benchmark.steps(condition), call) if call else {}
            )
            status, reason = str(read.status), read.reason
        if status not in statuses:
            yield f".parse gave status {status!r} on {where}; use ok, or one named in unanswered or unreadable"
        if status != "ok" and not reason:
            yield f".parse gave status {status} without a reason on {where}"
        if what not in replies and status not in benchmark.unanswered:
            yield f".parse scored {where} as {status}; give a status of unanswered"


# --- scoring ----------------------------------------------------------------------------------------------------------
def measures_give_declared_numbers_or_a_status(tried: Tried) -> Iterator[str]:
    """On all items, one item, no item, all right and all wrong; a value outside its range is an error of the program."""
    frame, made = tried.scored, {"all responses": tried.estimates}
    cases = {
        "one item": frame.filter(pl.col("item_id") == frame["item_id"][0]),
        "no answer": frame.with_columns(status=pl.lit(tried.benchmark.unanswered[0])),
    }
    for right in (0, 1) if "correct" in frame.columns else ():
        cases[f"every response {right}"] = frame.with_columns(correct=pl.lit(right, frame.schema["correct"]))
    made |= {what: scoring.estimates(tried.benchmark, tried.grouped(own)) for what, own in cases.items()}
    for what, found in made.items():
        if failed := failures_in(found):
            yield f": with {what}, measure {failed[:1]} failed; return an Estimate with a status"
    yield from (f": {line}" for line in scoring.outside_range(tried.estimates))
    if loose := sorted(
        set(tried.estimates["measure"]) - {each.name for each in measures_of(tried.benchmark)}
    ):
        yield f": measure {', '.join(loose)} is on the table but not declared in measures"
    if not scoring.estimates(tried.benchmark, tried.grouped(frame)).equals(tried.estimates):
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


def contrasts_do_not_fail(tried: Tried) -> Iterator[str]:
    """Tests have a p between 0 and 1, or a status; those kept by model give it the same rows whoever else is there."""
    if failed := failures_in(tried.comparisons):
        yield f": contrast {failed[:1]} failed; yield a Comparison whose status says why"
    for family, p in (
        tried.comparisons.select("family", "p").filter(~pl.col("p").is_between(0, 1)).iter_rows()
    ):
        yield f": p is {p} in the family {family}"
    for contrast in (each for each in tried.benchmark.contrasts if each.by_model):
        rows = list(contrast.compute(tried.benchmark, tried.groups))
        for name in {group.model for group in tried.groups} | {row.model for row in rows}:
            own = [group for group in tried.groups if group.model == name]
            alone = list(contrast.compute(tried.benchmark, own))
            if not own or repr(alone) != repr([row for row in rows if row.model == name]):
                other = f": contrast {contrast.family} gives model {name} other rows when it is alone"
                yield f"{other}; leave by_model out, or what rests on other models"


def every_test_belongs_to_a_question_with_one_primary_test(tried: Tried) -> Iterator[str]:
    """Of many tests of one question the one that answers it is named beforehand."""
    questions = tried.benchmark.questions
    for name in ("asks", "primary"):
        if len({getattr(each, name) for each in questions}) < len(questions):
            yield ".questions: a question, or a primary test, is there twice; name one test for each question"
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


def tables_and_harmonised_responses_hold_what_they_show(tried: Tried) -> Iterator[str]:
    """A table is in the schema of its row class; harmonised is right or wrong, and a confidence between 0 and 1."""
    for each in tried.benchmark.tables:
        _, why = table(tried.benchmark, each, tried.everything)
        if why is not None:
            yield f": table {each.name} failed: {why}"
    found = harmonised(tried.benchmark, tried.scored)
    sure = found["confidence"].drop_nulls().is_between(0, 1).all()
    if not (sure and found["correct"].is_in([0.0, 1.0]).all()):
        yield ".harmonise: correct must be 0 or 1, confidence 0 to 1 or null"


# --- the report, and what a paper prints ------------------------------------------------------------------------------
def sections_and_exhibits_are_text(tried: Tried) -> Iterator[str]:
    """One that fails is on the page with its error; one may say that there is no board yet."""
    cls, parts = type(tried.benchmark), dict[str, Any]()
    with held(f"{tried.name}.sections()", "return Sections"):
        parts |= {f"section {each.title} of the report": each.render for each in cls.sections()}
    with held(f"{tried.name}.exhibits()", "return Exhibits"):
        parts |= {f"exhibit {each.number}": each.render for each in cls.exhibits() if each.render}
    for what, render in parts.items():
        made: object = ""
        to_do = "return text for a study without answers, too"
        with held(f"{tried.name}: {what}", to_do), contextlib.suppress(MetacogError):
            made = render(tried.benchmark.context.home)
        if not isinstance(made, str):
            yield f": {what} is a {type(made).__name__}; return text"


def printed_numbers_stand_on_their_tables(tried: Tried) -> Iterator[str]:
    """Rows that lack what every printed number has are left out of the board, all of them."""
    declared = tried.benchmark.published
    for part, (schema, required) in PRINTED.items() if declared is not None else ():
        to_do = f"return a polars frame in the columns and types of published_{part} (docs/own_benchmark.md)"
        with held(f"{tried.name}.published.{part}", to_do):
            kept = fitted(tried.benchmark, getattr(declared, part)(tried.benchmark), schema)
        if lacking := [name for name in required if kept[name].null_count()]:
            yield f".published.{part}: rows without {', '.join(lacking)}; fill them, or leave the rows out"
    if declared is not None and declared.contrasts is not None:
        with held(f"{tried.name}.published.contrasts", "yield Comparisons"):
            as_table(tried.benchmark, declared.contrasts(tried.benchmark))


# --- as checks --------------------------------------------------------------------------------------------------------
def checks_of(names: dict[str, Any], said: Callable[[list[Any]], str]) -> tuple[Callable[[Tried], None], ...]:
    """Return a check for each public rule of a module, in their order; it raises `Broken` with what is ``said`` of it."""

    def check_of(rule: Callable[[Tried], Iterable[Any]]) -> Callable[[Tried], None]:
        @functools.wraps(rule)
        def check(tried: Tried) -> None:
            if found := [*rule(tried)]:
                raise Broken(f"{tried.name}{said(found)}")

        return check

    # Whatever is written as a rule is one: a list of them could leave one out.
    own = [each for each in names.values() if getattr(each, "__module__", "") == names["__name__"]]
    return tuple(
        check_of(each) for each in own if inspect.isgeneratorfunction(each) and each.__name__[0] != "_"
    )


CHECKS = checks_of(globals(), lambda found: str(found[0]))
