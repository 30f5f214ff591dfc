"""The rules of the contract: each yields what does not hold of a class, from its name on, and what to do about it."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import polars as pl

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.benchmark.contract import Call, Stage
from metacog_pipeline.benchmark.item_files import items_path, read_rows
from metacog_pipeline.conformance.case import SOME_ITEMS, Broken, Tried, asked_elsewhere, held, rehearsed
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling
from metacog_pipeline.scoring import estimates as scoring
from metacog_pipeline.scoring.comparisons import VERDICTS, as_table, failures_in, table
from metacog_pipeline.scoring.estimates import groups_of, measures_of, outside_range
from metacog_pipeline.scoring.harmonised import harmonised
from metacog_pipeline.scoring.printed import fitted
from metacog_pipeline.scoring.schemas import PUBLISHED_CLAIM, PUBLISHED_VALUE

READABLE = 0.9  # share of a tidy respondent's answers that must be readable
#: Replies no benchmark may choke on: empty, broken JSON, control characters, other scripts, very long, nested.
HOSTILE = (
    *("", " ", "\x00", "{", '{"answer":', "[]", "null", "NaN", "-", "42", "yes no yes", "```json\n{}\n```"),
    *(
        "\u202eabc",
        "答案是北京",
        "<script>alert(1)</script>",
        "%s %d {0} {answer}",
        "a" * 100_000,
        "[" * 20_000,
    ),
    *("<think>unfinished", "I cannot help with that.", "\ud800", "1e400", "A\nB\nC"),
)


# --- what is declared -------------------------------------------------------------------------------------------------
def what_readers_see_is_described(tried: Tried) -> Iterator[str]:
    """Boards, the report, the graph and the dictionary are written from titles and words."""
    benchmark = tried.benchmark
    for attribute in ("title", "paper"):
        if not getattr(benchmark, attribute, None):
            yield f".{attribute} is missing; set it on the class"
    measures = measures_of(benchmark)
    for measure in measures:
        if not (measure.label and measure.words):
            yield f": measure {measure.name} has no label or no words; name its column and define it in a sentence"
    heads = [measure.name for measure in measures if measure.headline]
    if len(heads) != 1:
        yield f": {len(heads)} headline measures ({heads}); mark exactly one with headline=True"
    silent = [f"table {each.name}" for each in benchmark.tables if not each.says]
    silent += [f"step {each.name}" for each in benchmark.construction() if not each.says]
    if silent:
        yield f": {', '.join(silent)} says nothing; describe it in a sentence"


def every_setting_says_which_stage_it_makes_stale(tried: Tried) -> Iterator[str]:
    """Otherwise a changed key changes nothing."""
    cls = tried.benchmark.Settings
    known = {name for stage in Stage for name in tried.benchmark.settings.affecting(stage)}
    if loose := sorted(set(cls.model_fields) - known - {"enabled", "reask_unreadable"}):
        yield f".Settings: {', '.join(loose)}: no stage; declare with setting(Stage.…, default)"
    if not cls.model_config.get("frozen") or cls.model_config.get("extra") != "forbid":
        yield ".Settings must stay frozen and forbid unknown keys"


# --- items ------------------------------------------------------------------------------------------------------------
def items_are_kept_as_they_are(tried: Tried) -> Iterator[str]:
    """They are asked in the order of position, and kept as Parquet by their annotations."""
    places = [(getattr(item, "task", None), item.position) for item in tried.benchmark.items]
    if len(set(places)) < len(places):
        yield ": positions repeat; number items from 0 in the order of asking, or those of each task"
    path = items_path(tried.benchmark.context.home, tried.benchmark.name)
    again = {item.item_id: item.model_dump() for item in read_rows(path, tried.benchmark.Item)}
    if any(again.get(item.item_id) != item.model_dump() for item in tried.benchmark.items):
        yield ".Item: a field is read otherwise than it was written; use str, int, float, bool, tuples or models"


def item_hashes_do_not_depend_on_place_or_process(tried: Tried) -> Iterator[str]:
    """An item whose hash changes is asked, and paid for, again."""
    some = tried.benchmark.items[:SOME_ITEMS]
    for item in some:
        if item.model_copy(update={"position": item.position + 1000}).item_hash != item.item_hash:
            yield (
                f": item_hash of {item.item_id} changes with its position or from one reading to the next; leave "
                "position, dates, ids of objects and random numbers out of asked_and_scored_by"
            )
    if asked_elsewhere(tried.benchmark.Item, some) != [
        json.dumps(item.asked_and_scored_by(), sort_keys=True) for item in some
    ]:
        yield ": asked_and_scored_by differs in another process; sort sets and use no hash() or id()"


def construction_is_a_graph_that_is_built_once(tried: Tried) -> Iterator[str]:
    """Each step is an asset whose edges are the steps it needs; stale is what depends on something that changed."""
    seen: set[str] = set()
    for step in tried.benchmark.construction():
        if unknown := set(step.needs) - seen:
            yield f": step {step.name} needs {', '.join(unknown)}, which no earlier step is called"
        seen.add(step.name)
    if stale := construction.stale_steps(tried.benchmark):
        yield f": after a build {', '.join(stale)} is stale again; Step.inputs must be equal for equal files"


# --- asking -----------------------------------------------------------------------------------------------------------
def _some(tried: Tried) -> Iterator[tuple[Any, str]]:
    for condition, items in tasks.asked(tried.benchmark):
        yield from ((item, condition) for item in items[:SOME_ITEMS])


def _asked(tried: Tried) -> Iterator[tuple[Any, str, list[ChatRequest]]]:
    spec = tried.study.models[0]
    return ((item, name, rehearsed(tried.benchmark, item, name, spec)) for item, name in _some(tried))


def conditions_have_names_and_items(tried: Tried) -> Iterator[str]:
    """A condition without items has no column on any table."""
    names = [condition.name for condition in tried.benchmark.conditions()]
    if len(set(names)) < len(names):
        yield f": a condition is named twice: {', '.join(names)}"
    if empty := [name for name, items in tasks.asked(tried.benchmark) if not items]:
        yield f": condition {', '.join(empty)} asks no item; leave it out of conditions()"


def items_are_asked_as_declared(tried: Tried) -> Iterator[str]:
    """`steps` is what plans, progress and readers go by; equal calls of two items would share one answer."""
    seen: dict[object, str] = {}
    for item, condition, requests in _asked(tried):
        said, made = tried.benchmark.steps(condition), [request.step for request in requests]
        if not made or not set(made) <= set(said):
            yield f": item {item.item_id} under {condition} was asked {made}; steps() says {said}: make them agree"
        key = (condition, tuple(request.messages for request in requests))
        if (other := seen.setdefault(key, item.item_id)) != item.item_id:
            yield f": items {other} and {item.item_id} are asked alike under {condition}"


def the_observer_knows_its_requests(tried: Tried) -> Iterator[str]:
    """The simulated server finds by a request whose benchmark it is about."""
    observer = tried.benchmark.observer(tried.study.models[0].observer)
    for item, condition, requests in _asked(tried):
        if not observer.knows(requests[0]):
            yield f": the observer does not know item {item.item_id} under {condition}; find it by the text"
    if observer.knows(ChatRequest((Message("user", "What is the weather on the moon today?"),), Sampling())):
        yield ": the observer claims to know any request; look for its items"


def nothing_is_asked_twice(tried: Tried) -> Iterator[str]:
    """Answers cost money."""
    first, again = tried.calls
    if not first:
        yield ": no call was made by ask()"
    if again:
        yield f": a second session made {again} calls; word requests by item, condition and seed only"


# --- reading ----------------------------------------------------------------------------------------------------------
def _statuses(tried: Tried) -> set[str]:
    return {"ok", *tried.benchmark.unanswered, *tried.benchmark.unreadable}


def _parse(tried: Tried, item: Any, condition: str, calls: dict[str, Call], what: str) -> Any:
    """Return the response to some calls; Broken where there is none, or one without a known status and its reason."""
    try:
        read = tried.benchmark.parse(item, condition, calls)
    except Exception as error:  # the rule is that this never happens
        raise Broken(
            f"{tried.name}.parse raised {type(error).__name__} on {what} of item {item.item_id} under {condition} "
            f"({error}); return a Response whose status is one of unreadable and whose reason says why"
        ) from error
    wrong = ""
    if not (hasattr(read, "status") and hasattr(read, "reason")):
        wrong = f"returns a {type(read).__name__}; return a Response for any calls, none and failed ones too"
    elif read.status not in _statuses(tried):
        wrong = f"gave status {read.status!r} on {what}; use ok, or one named in unanswered or unreadable"
    elif read.status != "ok" and not read.reason:
        wrong = f"gave status {read.status} without a reason on {what}"
    if wrong:
        raise Broken(f"{tried.name}.parse {wrong}")
    return read


def what_was_not_answered_is_not_scored(tried: Tried) -> Iterator[str]:
    """An item without a call, or whose calls failed, has no answer."""
    for item, condition in _some(tried):
        steps = tried.benchmark.steps(condition)
        failed = {step: Call("failed", "", error="no connection") for step in steps}
        for what, calls in (("no calls", {}), ("failed calls", failed)):
            read = _parse(tried, item, condition, calls, what)
            if read.status not in tried.benchmark.unanswered:
                said = f"scored {what} of item {item.item_id} as {read.status}"
                yield f".parse {said}; give a status of unanswered"


def any_text_can_be_read(tried: Tried) -> Iterator[str]:
    """Models write anything."""
    for item, condition in _some(tried):
        for text in HOSTILE:
            for status in ("ok", "truncated", "refused"):
                calls = {step: Call(status, text) for step in tried.benchmark.steps(condition)}
                _parse(tried, item, condition, calls, f"the {status} reply {text[:20]!r}")
    yield from ()


def there_is_one_response_per_item_and_condition(tried: Tried) -> Iterator[str]:
    """No item is lost or counted twice."""
    expected = tasks.expected(tried.benchmark) * len(tried.partitions)
    found = tried.responses.select("model", "run", "condition", "item_id").unique().height
    if not found == tried.responses.height == expected:
        yield f": {found} responses, {expected} expected"
    if strange := set(tried.responses["status"].unique()) - _statuses(tried):
        yield f": responses have the unknown status {', '.join(sorted(strange))}"


def a_tidy_respondent_can_be_read(tried: Tried) -> Iterator[str]:
    """Otherwise prompt, observer and reader do not fit each other."""
    readable = tried.responses.filter(pl.col("status") == "ok").height / max(tried.responses.height, 1)
    if readable < READABLE:
        why = tried.responses.filter(pl.col("status") != "ok")["reason"].head(1).to_list()
        yield f": {readable:.0%} of simulated answers can be read ({why}); let observer() answer as asked"


# --- scoring ----------------------------------------------------------------------------------------------------------
def deriving_keeps_every_response(tried: Tried) -> Iterator[str]:
    """Derived columns are added to what was read."""
    key = ["model", "run", "condition", "item_id"]
    before, after = (frame.select(key).sort(key) for frame in (tried.responses, tried.scored))
    if not after.equals(before):
        yield ".derive lost or repeated responses; add columns only"


def estimates_are_declared_and_within_range(tried: Tried) -> Iterator[str]:
    """A value outside its range, NaN, or half or reversed an interval is an error of the program."""
    known = {measure.name for measure in measures_of(tried.benchmark)}
    if loose := sorted(set(tried.estimates["measure"]) - known):
        yield f": measure {', '.join(loose)} is on the table but not declared in measures"
    yield from (f": {line}" for line in outside_range(tried.estimates))


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


def measures_do_not_fail(tried: Tried) -> Iterator[str]:
    """On all items, one item, no item, all right and all wrong there is a number or a status, never an exception."""
    frame = tried.scored
    cases = {
        "all responses": frame,
        "one item": frame.filter(pl.col("item_id") == frame["item_id"][0]),
        "no answer": frame.with_columns(status=pl.lit(tried.benchmark.unanswered[0])),
    }
    if "correct" in frame.columns:
        for what, right in (("all right", 1), ("all wrong", 0)):
            cases[what] = frame.with_columns(correct=pl.lit(right).cast(frame.schema["correct"]))
    for what, own in cases.items():
        groups = groups_of(tried.benchmark, own, by_run=False)
        found = tried.estimates if own is frame else scoring.estimates(tried.benchmark, groups)
        if failed := failures_in(found):
            yield f": with {what}, measure {failed[:1]} failed; return an Estimate with a status"


def the_same_seed_gives_the_same_numbers(tried: Tried) -> Iterator[str]:
    """Same seed, same bytes."""
    first, groups = tried.estimates, groups_of(tried.benchmark, tried.scored, by_run=False)
    if not scoring.estimates(tried.benchmark, groups).equals(first):
        yield ": a second scoring gave other numbers; draw with benchmark.stream()"


def contrasts_do_not_fail(tried: Tried) -> Iterator[str]:
    """Tests have two sides and a p between 0 and 1, or a status."""
    if failed := failures_in(tried.comparisons):
        yield f": contrast {failed[:1]} failed; yield a Comparison whose status says why"
    for p, a, b in tried.comparisons.select("p", "a", "b").iter_rows():
        if p is not None and not 0 <= p <= 1:
            yield f": p is {p} for {a} against {b}"


def what_is_kept_by_model_rests_on_it_alone(tried: Tried) -> Iterator[str]:
    """A contrast with by_model gives a model the same rows whoever else is there."""
    for contrast in (each for each in tried.benchmark.contrasts if each.by_model):
        rows = list(contrast.compute(tried.benchmark, tried.groups))
        for name in {group.model for group in tried.groups} | {row.model for row in rows}:
            own = [group for group in tried.groups if group.model == name]
            alone = list(contrast.compute(tried.benchmark, own))
            if not own or repr(alone) != repr([row for row in rows if row.model == name]):
                yield (
                    f": contrast {contrast.family} gives model {name} other rows when it is alone; leave by_model "
                    "out, or what rests on other models"
                )


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
    named = {family for each in questions for family in each.families}
    if loose := sorted(set(tests["family"]) - named):
        yield f".questions: no Question names the family {', '.join(loose)}; add it to one"
    failed = pl.col("status").str.starts_with(scoring.FAILED)  # said by another rule
    there = set(tried.comparisons.filter(~failed.fill_null(False)).select("family", "measure").iter_rows())
    answers = [each.primary for each in questions if each.primary not in there]
    made = {family for family, _ in there}
    if missing := [f"{family} of {measure}" for family, measure in answers if family in made]:
        yield f".questions: {', '.join(missing)} is made by no contrast; name a test there is"
    if not (tests["n_tests"] > 0).all():
        yield ": a test has no family; let Contrast.within name columns of its rows"


def tables_and_board_have_what_they_show(tried: Tried) -> Iterator[str]:
    """A table is in the schema of its row class; a column of a measure that no benchmark computes stays empty."""
    for each in tried.benchmark.tables:
        _, why = table(tried.benchmark, each, tried.everything)
        if why is not None:
            yield f": table {each.name} failed: {why}"
    board = tried.benchmark.board
    named = {name for column in board.columns for name in column.measures}
    named |= {name for each in board.order for name in each}
    if unknown := sorted(named - {measure.name for measure in measures_of(tried.benchmark)}):
        yield f".board names {', '.join(unknown)}, which is no measure; declare it or leave it out"


def harmonised_responses_are_shares(tried: Tried) -> Iterator[str]:
    """Right or wrong, and a confidence between 0 and 1."""
    found = harmonised(tried.benchmark, tried.scored)
    sure = found["confidence"].drop_nulls().is_between(0, 1).all()
    if not (sure and found["correct"].is_in([0.0, 1.0]).all()):
        yield ".harmonise: correct must be 0 or 1, confidence 0 to 1 or null"


# --- the report, and what a paper prints ------------------------------------------------------------------------------
def sections_and_exhibits_are_text(tried: Tried) -> Iterator[str]:
    """One that fails is on the page with its error; one may say that there is no board yet."""
    cls, parts = type(tried.benchmark), list[tuple[str, Any]]()
    with held(f"{tried.name}.sections()", "return Sections"):
        parts += [(f"section {each.title} of the report", each.render) for each in cls.sections()]
    with held(f"{tried.name}.exhibits()", "return Exhibits"):
        parts += [(f"exhibit {each.number}", each.render) for each in cls.exhibits()]
    for what, render in parts:
        made: object = ""
        to_do = "return text for a study without answers, too"
        with held(f"{tried.name}: {what}", to_do), contextlib.suppress(MetacogError):
            made = render(tried.benchmark.context.home) if render is not None else ""
        if not isinstance(made, str):
            yield f": {what} is a {type(made).__name__}; return text"


#: What every row has; the board leaves out all printed numbers of a benchmark where one lacks it.
_PRINTED = {
    "values": ("place", "dataset", "measure"), "claims": ("place", "subject", "quantity", "method", "verdict"),
}  # fmt: skip


def printed_numbers_stand_on_their_tables(tried: Tried) -> Iterator[str]:
    """Rows that lack what every printed number has are left out of the board, all of them."""
    declared = tried.benchmark.published
    if declared is None:
        return
    for part, schema in (("values", PUBLISHED_VALUE), ("claims", PUBLISHED_CLAIM)):
        said, to_do = (
            f"{tried.name}.published.{part}",
            f"return a polars frame with columns of published_{part}",
        )
        with held(said, to_do):
            given = getattr(declared, part)(tried.benchmark)
        if not isinstance(given, pl.DataFrame):
            yield f".published.{part} returns a {type(given).__name__}; {to_do}"
            continue
        types = "give each the type docs/own_benchmark.md says"
        with held(f"{said}: to put it into the columns of its table", types):
            kept = fitted(tried.benchmark, given, schema)
        if lacking := [name for name in _PRINTED[part] if kept[name].null_count()]:
            yield f".published.{part}: rows without {', '.join(lacking)}; fill them, or leave the rows out"
    with held(f"{tried.name}.published.contrasts", "yield Comparisons"):
        as_table(tried.benchmark, () if declared.contrasts is None else declared.contrasts(tried.benchmark))


# --- as checks --------------------------------------------------------------------------------------------------------
def checks_of(module: str, said: Callable[[list[Any]], str]) -> tuple[Callable[[Tried], None], ...]:
    """Return a check for each public generator of a module, in their order: none is left out of a list.

    It raises `Broken` with what is ``said`` of all that the rule yields.
    """
    own = [each for each in vars(sys.modules[module]).values() if getattr(each, "__module__", "") == module]
    rules = [each for each in own if inspect.isgeneratorfunction(each) and each.__name__[0] != "_"]
    return tuple(_check_of(rule, said) for rule in rules)


def _check_of(
    rule: Callable[[Tried], Iterable[Any]], said: Callable[[list[Any]], str]
) -> Callable[[Tried], None]:
    def check(tried: Tried) -> None:
        if found := [*rule(tried)]:
            raise Broken(f"{tried.name}{said(found)}")

    check.__name__, check.rule = rule.__name__, rule  # type: ignore[attr-defined]
    return check


CHECKS = checks_of(__name__, lambda found: str(found[0]))
