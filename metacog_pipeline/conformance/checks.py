"""The rules of the contract, one function each. A rule that does not hold raises `Broken`, which says what to do."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import polars as pl

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.benchmark.contract import Call, Stage, schema_of
from metacog_pipeline.benchmark.item_files import items_path, read_rows
from metacog_pipeline.conformance.case import SOME_ITEMS, Broken, Tried, held, rehearsed
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.leaderboard.build import BrokenError, require_none
from metacog_pipeline.leaderboard.sql_folder import load_project
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling
from metacog_pipeline.scoring.comparisons import VERDICTS, as_table, failures_in, table
from metacog_pipeline.scoring.estimates import (
    FAILED,
    answers_behind,
    basis_of,
    estimates,
    groups_of,
    measures_of,
)
from metacog_pipeline.scoring.harmonised import harmonised
from metacog_pipeline.scoring.printed import fitted
from metacog_pipeline.scoring.schemas import PUBLISHED_CLAIM, PUBLISHED_VALUE
from metacog_pipeline.scoring.soundness import senseless, senseless_lines

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


def name_of(check: Callable[[Tried], None]) -> str:
    """Return the rule's name."""
    return check.__name__


def _hold(holds: object, message: str) -> None:
    if not holds:
        raise Broken(message)


# --- what is declared -------------------------------------------------------------------------------------------------
def it_has_a_title_and_a_paper(tried: Tried) -> None:
    """Boards and the report name them."""
    for attribute in ("title", "paper"):
        _hold(
            getattr(tried.benchmark, attribute, None),
            f"{tried.name}.{attribute} is missing; set it on the class",
        )


def every_setting_says_which_stage_it_makes_stale(tried: Tried) -> None:
    """Otherwise a changed key changes nothing."""
    cls = tried.benchmark.Settings
    known = {name for stage in Stage for name in tried.benchmark.settings.affecting(stage)}
    loose = sorted(set(cls.model_fields) - known - {"enabled", "reask_unreadable"})
    _hold(
        not loose,
        f"{tried.name}.Settings: {', '.join(loose)}: no stage; declare with setting(Stage.…, default)",
    )
    cls.model_json_schema()


def settings_cannot_change_once_read(tried: Tried) -> None:
    """A study file is read once for many partitions."""
    frozen = tried.benchmark.Settings.model_config.get("frozen")
    extra = tried.benchmark.Settings.model_config.get("extra")
    _hold(frozen and extra == "forbid", f"{tried.name}.Settings must stay frozen and forbid unknown keys")


def its_module_imports_neither_dagster_nor_another_benchmark(tried: Tried) -> None:
    """Commands that need one benchmark load one benchmark, and none loads Dagster."""
    module = type(tried.benchmark).__module__
    found, _ = _elsewhere(tried)
    root = ".".join(module.split(".")[:3])
    other = [name for name in found if not name.startswith(root)]
    _hold(
        not other, f"{module} imports {', '.join(other[:5])}; import what it shares from the pipeline instead"
    )


def _elsewhere(tried: Tried) -> list[list[str]]:
    """Return what a process of its own has loaded with the module, and by what its first items are asked and scored."""
    done = tried.elsewhere
    _hold(
        done.returncode == 0,
        f"{tried.name} cannot be imported alone, or its Item cannot be read there: {done.stderr.strip()[-300:]}",
    )
    found: list[list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found


# --- items ------------------------------------------------------------------------------------------------------------
def items_have_places_of_their_own(tried: Tried) -> None:
    """Items are asked in the order of position."""
    items = tried.benchmark.items
    places = [(getattr(item, "task", None), item.position) for item in items]
    _hold(
        len(set(places)) == len(places),
        f"{tried.name}: positions repeat; number items from 0 in the order of asking, or those of each task",
    )


def items_come_back_from_disk_as_they_went(tried: Tried) -> None:
    """Items are kept as Parquet by their annotations; a study may ask some of those kept."""
    cls, path = tried.benchmark.Item, items_path(tried.benchmark.context.home, tried.benchmark.name)
    again = {item.item_id: item.model_dump() for item in read_rows(path, cls)}
    _hold(
        all(again.get(item.item_id) == item.model_dump() for item in tried.benchmark.items),
        f"{tried.name}.Item: a field is read otherwise than it was written; use str, int, float, bool, tuples or models",
    )


def item_hashes_do_not_depend_on_place_or_process(tried: Tried) -> None:
    """An item whose hash changes is asked, and paid for, again."""
    for item in tried.benchmark.items[:SOME_ITEMS]:
        moved = item.model_copy(update={"position": item.position + 1000})
        _hold(
            moved.item_hash == item.item_hash,
            f"{tried.name}: item_hash of {item.item_id} changes with its position or from one reading to the next; leave "
            "position, dates, ids of objects and random numbers out of asked_and_scored_by",
        )
    texts = [
        json.dumps(item.asked_and_scored_by(), sort_keys=True) for item in tried.benchmark.items[:SOME_ITEMS]
    ]
    _, found = _elsewhere(tried)
    _hold(
        found == texts,
        f"{tried.name}: asked_and_scored_by differs in another process; sort sets and use no hash() or id()",
    )


def construction_steps_name_each_other(tried: Tried) -> None:
    """Each step is an asset whose edges are the steps it needs."""
    seen: set[str] = set()
    for step in tried.benchmark.construction():
        unknown = set(step.needs) - seen
        _hold(
            not unknown,
            f"{tried.name}: step {step.name} needs {', '.join(unknown)}, which no earlier step is called",
        )
        _hold(step.says, f"{tried.name}: step {step.name} says nothing; describe its asset in a sentence")
        seen.add(step.name)


def a_second_build_has_nothing_to_do(tried: Tried) -> None:
    """Stale is what depends on something that changed."""
    stale = construction.stale_steps(tried.benchmark)
    _hold(
        not stale,
        f"{tried.name}: after a build {', '.join(stale)} is stale again; Step.inputs must be equal for equal files",
    )


# --- asking -----------------------------------------------------------------------------------------------------------
def _asked(tried: Tried) -> Iterator[tuple[Any, str, list[ChatRequest]]]:
    for condition, items in tasks.asked(tried.benchmark):
        for item in items[:SOME_ITEMS]:
            yield item, condition, rehearsed(tried.benchmark, item, condition, tried.study.models[0])


def conditions_have_names_and_items(tried: Tried) -> None:
    """A condition without items has no column on any table."""
    names = [condition.name for condition in tried.benchmark.conditions()]
    _hold(len(set(names)) == len(names), f"{tried.name}: a condition is named twice: {', '.join(names)}")
    empty = [name for name, items in tasks.asked(tried.benchmark) if not items]
    _hold(not empty, f"{tried.name}: condition {', '.join(empty)} asks no item; leave it out of conditions()")


def asking_takes_the_steps_it_says(tried: Tried) -> None:
    """`steps` is what plans, progress and readers go by."""
    for item, condition, requests in _asked(tried):
        said, made = tried.benchmark.steps(condition), [request.step for request in requests]
        _hold(
            set(made) <= set(said) and made,
            f"{tried.name}: item {item.item_id} under {condition} was asked {made}; steps() says {said}: make them agree",
        )


def different_items_are_asked_differently(tried: Tried) -> None:
    """Equal calls share one answer."""
    seen: dict[object, str] = {}
    for item, condition, requests in _asked(tried):
        key = (condition, tuple(request.messages for request in requests))
        other = seen.setdefault(key, item.item_id)
        _hold(
            other == item.item_id,
            f"{tried.name}: items {other} and {item.item_id} are asked alike under {condition}",
        )


def the_observer_knows_its_requests(tried: Tried) -> None:
    """The simulated server finds by a request whose benchmark it is about."""
    observer = tried.benchmark.observer(tried.study.models[0].observer)
    for item, condition, requests in _asked(tried):
        _hold(
            observer.knows(requests[0]),
            f"{tried.name}: the observer does not know item {item.item_id} under {condition}; find it by the text",
        )
    stranger = ChatRequest((Message("user", "What is the weather on the moon today?"),), Sampling())
    _hold(
        not observer.knows(stranger),
        f"{tried.name}: the observer claims to know any request; look for its items",
    )


def nothing_is_asked_twice(tried: Tried) -> None:
    """Answers cost money."""
    first, again = tried.calls
    _hold(first > 0, f"{tried.name}: no call was made by ask()")
    _hold(
        again == 0,
        f"{tried.name}: a second session made {again} calls; word requests by item, condition and seed only",
    )


# --- reading ----------------------------------------------------------------------------------------------------------
def _statuses(tried: Tried) -> set[str]:
    return {"ok", *tried.benchmark.unanswered, *tried.benchmark.unreadable}


def _parse(tried: Tried, item: Any, condition: str, calls: dict[str, Call], what: str) -> Any:
    try:
        read = tried.benchmark.parse(item, condition, calls)
    except Exception as error:  # the rule is that this never happens
        raise Broken(
            f"{tried.name}.parse raised {type(error).__name__} on {what} of item {item.item_id} under {condition} "
            f"({error}); return a Response whose status is one of unreadable and whose reason says why"
        ) from error
    _hold(
        hasattr(read, "status") and hasattr(read, "reason"),
        f"{tried.name}.parse returns a {type(read).__name__}; return a Response for any calls, none and failed ones too",
    )
    _hold(
        read.status in _statuses(tried),
        f"{tried.name}.parse gave status {read.status!r} on {what}; use ok, or one named in unanswered or unreadable",
    )
    _hold(
        read.status == "ok" or read.reason,
        f"{tried.name}.parse gave status {read.status} without a reason on {what}",
    )
    return read


def _some(tried: Tried) -> Iterator[tuple[Any, str]]:
    for condition, items in tasks.asked(tried.benchmark):
        yield from ((item, condition) for item in items[:SOME_ITEMS])


def silence_is_no_answer(tried: Tried) -> None:
    """An item without an answer is never scored."""
    for item, condition in _some(tried):
        read = _parse(tried, item, condition, {}, "no calls")
        _hold(
            read.status in tried.benchmark.unanswered,
            f"{tried.name}.parse scored item {item.item_id} without any call as {read.status}; give a status of unanswered",
        )


def a_failed_call_is_no_answer(tried: Tried) -> None:
    """What failed is never scored."""
    for item, condition in _some(tried):
        steps = tried.benchmark.steps(condition)
        calls = {step: Call("failed", "", error="no connection") for step in steps}
        read = _parse(tried, item, condition, calls, "failed calls")
        _hold(
            read.status in tried.benchmark.unanswered,
            f"{tried.name}.parse scored failed calls of item {item.item_id} as {read.status}; give a status of unanswered",
        )


def any_text_can_be_read(tried: Tried) -> None:
    """Models write anything."""
    for item, condition in _some(tried):
        for text in HOSTILE:
            for status in ("ok", "truncated", "refused"):
                calls = {step: Call(status, text) for step in tried.benchmark.steps(condition)}
                _parse(tried, item, condition, calls, f"the {status} reply {text[:20]!r}")


def there_is_one_response_per_item_and_condition(tried: Tried) -> None:
    """No item is lost or counted twice."""
    expected = tasks.expected(tried.benchmark) * len(tried.partitions)
    found = tried.responses.select("model", "run", "condition", "item_id").unique().height
    _hold(
        found == tried.responses.height == expected, f"{tried.name}: {found} responses, {expected} expected"
    )
    strange = set(tried.responses["status"].unique()) - _statuses(tried)
    _hold(not strange, f"{tried.name}: responses have the unknown status {', '.join(sorted(strange))}")


def a_tidy_respondent_can_be_read(tried: Tried) -> None:
    """Otherwise prompt, observer and reader do not fit each other."""
    readable = tried.responses.filter(pl.col("status") == "ok").height / max(tried.responses.height, 1)
    why = tried.responses.filter(pl.col("status") != "ok")["reason"].head(1).to_list()
    _hold(
        readable >= READABLE,
        f"{tried.name}: {readable:.0%} of simulated answers can be read ({why}); let observer() answer as asked",
    )


# --- scoring ----------------------------------------------------------------------------------------------------------
def deriving_keeps_every_response(tried: Tried) -> None:
    """Derived columns are added to what was read."""
    key = ["model", "run", "condition", "item_id"]
    _hold(
        tried.scored.select(key).sort(key).equals(tried.responses.select(key).sort(key)),
        f"{tried.name}.derive lost or repeated responses; add columns only",
    )


def measures_are_defined(tried: Tried) -> None:
    """Tables, dictionary, report and boards are written from the definitions."""
    measures = measures_of(tried.benchmark)
    for measure in measures:
        _hold(
            measure.label,
            f"{tried.name}: measure {measure.name} has no label; give the heading of its column",
        )
        _hold(measure.words, f"{tried.name}: measure {measure.name} has no words; define it in a sentence")
    heads = [measure.name for measure in measures if measure.headline]
    _hold(
        len(heads) == 1,
        f"{tried.name}: {len(heads)} headline measures ({heads}); mark exactly one with headline=True",
    )


def estimates_are_declared_and_within_range(tried: Tried) -> None:
    """A value outside its range, NaN, or half or reversed an interval is an error of the program."""
    known = {measure.name for measure in measures_of(tried.benchmark)}
    loose = sorted(set(tried.estimates["measure"]) - known)
    _hold(not loose, f"{tried.name}: measure {', '.join(loose)} is on the table but not declared in measures")
    for line in senseless_lines(senseless(tried.benchmark, tried.estimates)):
        _hold(False, f"{tried.name}: {line}")


def measures_rest_on_what_they_declare(tried: Tried) -> None:
    """A number rests on as many answers, or items, as its measure declares."""
    every = measures_of(tried.benchmark)
    declared = {each.name: each for each in every if len(each.basis) > (each.only is not None)}
    for group in tried.groups:
        own = tried.estimates.filter(condition=group.label, model=group.model, dataset=group.dataset)
        for name, n in own.filter(pl.col("n") > 0).select("measure", "n").iter_rows():
            if name in declared:
                found = basis_of(answers_behind(tried.benchmark, group.rows, declared[name]), declared[name])
                _hold(
                    n in (found.n, found.n_items),
                    f"{tried.name}: measure {name} has n {n}, and its rests_on names {found.n} answers; correct either",
                )


def measures_do_not_fail(tried: Tried) -> None:
    """On all items, one item, no item, all right and all wrong there is a number or a status, never an exception."""
    one = tried.scored["item_id"][0]
    unanswered = tried.benchmark.unanswered[0]
    cases = {
        "one item": tried.scored.filter(pl.col("item_id") == one),
        "no answer": tried.scored.with_columns(status=pl.lit(unanswered)),
    }
    if "correct" in tried.scored.columns:
        kind = tried.scored.schema["correct"]
        cases["all right"] = tried.scored.with_columns(correct=pl.lit(1).cast(kind))
        cases["all wrong"] = tried.scored.with_columns(correct=pl.lit(0).cast(kind))
    all_scored = ("all responses", tried.estimates)
    others = (
        (what, estimates(tried.benchmark, groups_of(tried.benchmark, frame, by_run=False)))
        for what, frame in cases.items()
    )
    for what, found in (all_scored, *others):
        failed = failures_in(found)
        _hold(
            not failed,
            f"{tried.name}: with {what}, measure {failed[:1]} failed; return an Estimate with a status",
        )


def the_same_seed_gives_the_same_numbers(tried: Tried) -> None:
    """Same seed, same bytes."""
    first = tried.estimates
    again = estimates(tried.benchmark, groups_of(tried.benchmark, tried.scored, by_run=False))
    _hold(
        again.equals(first),
        f"{tried.name}: a second scoring gave other numbers; draw with benchmark.stream()",
    )


def contrasts_do_not_fail(tried: Tried) -> None:
    """Tests have two sides and a p between 0 and 1, or a status."""
    failed = failures_in(tried.comparisons)
    _hold(not failed, f"{tried.name}: contrast {failed[:1]} failed; yield a Comparison whose status says why")
    for p, a, b in tried.comparisons.select("p", "a", "b").iter_rows():
        _hold(p is None or 0 <= p <= 1, f"{tried.name}: p is {p} for {a} against {b}")


def what_is_kept_by_model_rests_on_it_alone(tried: Tried) -> None:
    """A contrast with by_model gives a model the same rows whoever else is there."""
    for contrast in (each for each in tried.benchmark.contrasts if each.by_model):
        rows = list(contrast.compute(tried.benchmark, tried.groups))
        for name in {group.model for group in tried.groups} | {row.model for row in rows}:
            own = [group for group in tried.groups if group.model == name]
            alone = list(contrast.compute(tried.benchmark, own))
            _hold(
                own and repr(alone) == repr([row for row in rows if row.model == name]),
                f"{tried.name}: contrast {contrast.family} gives model {name} other rows when it is alone; leave "
                "by_model out, or what rests on other models",
            )


def every_test_belongs_to_a_question_with_one_primary_test(tried: Tried) -> None:
    """Of many tests of one question the one that answers it is named beforehand."""
    questions = tried.benchmark.questions
    asked = [question.asks for question in questions]
    answers = [question.primary for question in questions]
    _hold(
        len(set(asked)) == len(asked) and len(set(answers)) == len(answers),
        f"{tried.name}.questions: a question, or a primary test, is there twice; name one test for each question",
    )
    named = [family for question in questions for family in set(question.families)]
    # A question of the verdict may take another measure of a family that answers a question of the benchmark.
    own = [family for each in questions if each.verdict is None for family in set(each.families)]
    twice = sorted({family for family in own if own.count(family) > 1})
    _hold(not twice, f"{tried.name}.questions: {', '.join(twice)} bears on two questions; choose one")
    tests = tried.comparisons.filter(pl.col("p").is_not_null() | pl.col("verdict").is_in(VERDICTS))
    loose = sorted(set(tests["family"]) - set(named))
    _hold(
        not loose, f"{tried.name}.questions: no Question names the family {', '.join(loose)}; add it to one"
    )
    failed = pl.col("status").str.starts_with(FAILED)  # said by another rule
    there = set(tried.comparisons.filter(~failed.fill_null(False)).select("family", "measure").iter_rows())
    made = {family for family, _ in there}
    missing = [
        f"{family} of {measure}"
        for family, measure in answers
        if family in made and (family, measure) not in there
    ]
    _hold(
        not missing,
        f"{tried.name}.questions: {', '.join(missing)} is made by no contrast; name a test there is",
    )
    _hold(
        (tests["n_tests"] > 0).all(),
        f"{tried.name}: a test has no family; let Contrast.within name columns of its rows",
    )


def its_own_tables_do_not_fail(tried: Tried) -> None:
    """A table is in the schema of its row class."""
    for each in tried.benchmark.tables:
        _, why = table(tried.benchmark, each, tried.everything)
        _hold(why is None, f"{tried.name}: table {each.name} failed: {why}")
        _hold(
            each.says and schema_of(each.row),
            f"{tried.name}: table {each.name} says nothing; describe it in a sentence",
        )


def harmonised_responses_are_shares(tried: Tried) -> None:
    """Right or wrong, and a confidence between 0 and 1."""
    found = harmonised(tried.benchmark, tried.scored)
    right = found["correct"].is_in([0.0, 1.0]).all()
    sure = found["confidence"].drop_nulls().is_between(0, 1).all()
    _hold(right and sure, f"{tried.name}.harmonise: correct must be 0 or 1, confidence 0 to 1 or null")


def the_board_shows_measures_there_are(tried: Tried) -> None:
    """A column of a measure that no benchmark computes stays empty."""
    known = {measure.name for measure in measures_of(tried.benchmark)}
    board = tried.benchmark.board
    named = {name for column in board.columns for name in column.measures} | {
        n for each in board.order for n in each
    }
    unknown = sorted(named - known)
    _hold(
        not unknown,
        f"{tried.name}.board names {', '.join(unknown)}, which is no measure; declare it or leave it out",
    )


def sections_of_the_report_are_text(tried: Tried) -> None:
    """A section that fails is on the page with its error; one may say that there is no board yet."""
    with held(f"{tried.name}.sections()", "return Sections"):
        sections = type(tried.benchmark).sections()
    for section in sections:
        with (
            held(
                f"{tried.name}: section {section.title} of the report",
                "return text for a study without answers, too",
            ),
            contextlib.suppress(MetacogError),
        ):
            made = section.render(tried.benchmark.context.home)
            _hold(
                isinstance(made, str),
                f"{tried.name}: section {section.title} of the report is a {type(made).__name__}; return text",
            )


# --- what a paper prints ----------------------------------------------------------------------------------------------
_TABLES = {"values": PUBLISHED_VALUE, "claims": PUBLISHED_CLAIM}


def printed_numbers_stand_on_their_tables(tried: Tried) -> None:
    """Rows that lack what every printed number has are left out of the board, all of them."""
    declared = tried.benchmark.published
    if declared is None:
        return
    for part, schema in _TABLES.items():
        said, to_do = (
            f"{tried.name}.published.{part}",
            f"return a polars frame with columns of published_{part}",
        )
        with held(said, to_do):
            given = getattr(declared, part)(tried.benchmark)
        if not isinstance(given, pl.DataFrame):
            raise Broken(f"{said} returns a {type(given).__name__}; {to_do}")
        with held(
            f"{said}: to put it into the columns of its table",
            "give each the type docs/own_benchmark.md says",
        ):
            kept = fitted(tried.benchmark, given, schema)
        if why := _left_out(f"published_{part}", kept):
            raise Broken(f"{said}: {why}; fill these columns, or leave the rows out (docs/own_benchmark.md)")
    with held(f"{tried.name}.published.contrasts", "yield Comparisons"):
        as_table(tried.benchmark, () if declared.contrasts is None else declared.contrasts(tried.benchmark))


def _left_out(table: str, rows: pl.DataFrame) -> str | None:
    """Return what of the board's own tests of ``table`` the rows break."""
    project = load_project()
    with duckdb.connect() as connection:
        connection.execute("set threads = 1")
        connection.register("given", rows.to_arrow())
        connection.execute(f"create table {table} as from given")
        try:
            tests = [test for model in project.models for test in model.tests]
            for test in (each for each in (*tests, *project.tests) if each.reads == (table,)):
                require_none(connection, test)
        except BrokenError as error:
            return str(error)
    return None


def exhibits_of_the_paper_are_text(tried: Tried) -> None:
    """An exhibit that fails is on the page of the paper with its error; one may say that there is no board yet."""
    with held(f"{tried.name}.exhibits()", "return Exhibits"):
        exhibits = type(tried.benchmark).exhibits()
    for each in exhibits:
        with held(f"{tried.name}.exhibits()", "return Exhibits"):
            said, render = f"{tried.name}: exhibit {each.number}", each.render
        if render is None:
            continue
        made: object = ""
        to_do = "return text for a study without answers, too"
        with held(said, to_do), contextlib.suppress(MetacogError):
            made = render(tried.benchmark.context.home)
        if not isinstance(made, str):
            raise Broken(f"{said} is a {type(made).__name__}; return text")


CHECKS: tuple[Callable[[Tried], None], ...] = tuple(
    value
    for name, value in list(globals().items())
    if getattr(value, "__module__", "") == __name__ and not name.startswith("_") and name != "name_of"
)
