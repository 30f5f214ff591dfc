"""The samples of a log, or of a table that brings its questions, as answers of a study: models, runs, questions, answers.

Everything is decided before anything is written: a log that is refused leaves study and home as they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.asking import construction
from metacog_pipeline.benchmark.bound import Bound, bound
from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.errors import SourceError, StudyError, one_line, suggestion
from metacog_pipeline.files import canonical_json
from metacog_pipeline.interchange import study_files
from metacog_pipeline.interchange.answer_files import Table
from metacog_pipeline.interchange.imported import (
    NOT_KEPT,
    UNSCORED,
    Imported,
    ImportOptions,
    Rejected,
    imported_record,
)
from metacog_pipeline.interchange.importing import keep, refuse_others
from metacog_pipeline.interchange.logs import matching, reading, tables
from metacog_pipeline.interchange.question import LETTERS, ORDER, states_confidence
from metacog_pipeline.interchange.question_rules import QuestionRows
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.llm.types import Status
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.transcripts.lines import encode_logprobs
from metacog_pipeline.transcripts.schema import Record

TRUSTED = ("correct", "key", "model", "run", "status")
_OF_TABLES = ("pairs", "condition", "words", "scale", "from_one")  # options that no log needs
_NAMED, _TRIED, _LEAST_READ, _REASONS = 3, 200, 20, 8


# --- what a file is about ---------------------------------------------------------------------------------------------
def take(file: Path, study_path: Path, given: Mapping[str, Any], options: ImportOptions) -> Imported:
    """Import a log or a table, into a study that is made where there is none; ``given`` are the command's options."""
    study = load_study(study_path) if study_path.exists() else None
    name = target(study, options.benchmark)
    if not file.exists():
        raise StudyError(f"{file}: there is no such file; check the path")
    samples: Iterable[Sample] | None = None
    if not any(given[each] for each in _OF_TABLES):
        samples = reading.samples_of(file, options.trust)
    if samples is None and given["condition"] is None and name == own_questions():
        samples = tables.read(file, given["pairs"], options)
    if samples is not None:
        return import_log(file, study_path, samples, options)
    if study is None:
        needs = "--map question=…, key=… or correct=…, and choice=… or response=…, each by a --map of its own"
        raise StudyError(f"{file}: {study_path} is not there; for a study of its own a table needs {needs}")
    into = benchmark_of(study, options.benchmark)
    assert into.importer is not None
    condition = given["condition"] or into.importer.condition
    found: Imported = into.importer.read(
        into, file, options.model, given["run"], given["pairs"], condition, options
    )
    return found


def own_questions() -> str:
    """Return the benchmark of the user's own questions."""
    return next(name for name in registry.names() if registry.part(name, "Settings").takes_questions)


def target(study: Study | None, named: str | None) -> str:
    """Return the benchmark a file is about: the one named, the only one of the study, else one's own questions."""
    own, enabled = own_questions(), () if study is None else study.enabled
    name = named or (enabled[0] if len(enabled) == 1 else own)
    if name != own and name not in enabled:
        there = ", ".join(enabled) or "none"
        raise StudyError(
            f'import: "{name}" is not enabled in the study{suggestion(name, enabled)}; it has: {there}'
        )
    return name


def benchmark_of(study: Study, named: str | None) -> Bound:
    """Return the benchmark that a table is about."""
    into = bound(study, target(study, named))
    if into.importer is None:
        raise StudyError(
            f"import: answers to {into.name} cannot be imported; `metacog fit FILE` fits a table of trials"
        )
    return into


# --- a log ------------------------------------------------------------------------------------------------------------
def import_log(path: Path, study_path: Path, found: Iterable[Sample], options: ImportOptions) -> Imported:
    """Keep the answers of a log as those of replayed models; StudyError where it is refused, nothing is kept then."""
    samples = list(found)
    study = load_study(study_path) if study_path.exists() else None
    _usable(path, samples)
    for each in samples:
        each.run += options.run - 1
    names = _models(path, study, samples, options)
    name = target(study, options.benchmark)
    if study is not None and name != own_questions():
        return _about_items(path, study, name, samples, options)
    if unknown := [each for each in options.trust if each not in TRUSTED]:
        raise StudyError(f"--trust {unknown[0]}: give one of {', '.join(TRUSTED)}; nothing was kept")
    condition = _condition(study, name, _usable(path, samples))
    matched = matching.match(path, _items(study, name), samples, options.trust)
    usable = _usable(path, samples)
    addition, lacks = [], None
    if study is None or name not in study.benchmarks:
        addition = [f'[benchmarks.{name}]\nitems = []\nconditions = ["{condition}"]\nallow_incomplete = true']
    elif condition not in study.benchmarks[name].model_dump()["conditions"]:
        lacks = name, condition
    records = _records(name, matched.items, condition, usable, names)
    if study is not None and name in study.enabled:  # a conflict is found before the study file is changed
        refuse_others(path, study, name, records, options.trust)
    made = study_files.fitted(study_path, study, names, max(each.run for each in usable), addition, lacks)
    made.prepare()
    if matched.new:
        matching.keep_new(made.home.imported, matched)
    into = bound(made, name)
    construction.build(into)
    known = keep(made, name, records)
    done = _done(samples, Imported(records, study=made, known=known))
    options.report([*_understood(done, samples, names, matched, into, condition)])
    return done


def _usable(path: Path, samples: Sequence[Sample]) -> list[Sample]:
    usable = [each for each in samples if each.why is None]
    if usable:
        return usable
    first = ""
    if samples:  # a table's rows say that they are rows, a log's samples may be bare numbers
        name = samples[0].name
        called = name if name.startswith(("row ", "line ")) else f"sample {name}:"
        first = f": {called} {samples[0].why}"
    asks = any("no item is called" in str(each.why) for each in samples)
    study = "; name the study that asks its questions with --study" if asks else ""
    raise StudyError(
        f"{path}: none of its {len(samples)} samples can be used{first}; nothing was kept{study}"
    )


def _models(
    path: Path, study: Study | None, samples: Sequence[Sample], options: ImportOptions
) -> dict[str, str]:
    """Return {model in the log: its name here}; refuse two models under one name."""
    stated = {each.model for each in samples if each.model}
    only = options.model or (next(iter(stated)) if len(stated) == 1 else "")
    reported: dict[str, Counter[str]] = {}
    for each in samples:
        each.model = each.model or only  # a line that failed names no model: it is of that of the others
        if each.why is None:
            reported.setdefault(each.model, Counter())[each.said.model_reported or each.model] += 1
    if "" in reported:
        raise StudyError(f"{path}: does not say which model answered; name it with --model; nothing was kept")
    for model, counted in reported.items():
        if len(counted) > 1 and "model" not in options.trust:
            several = ", ".join(f"{name} ({n})" for name, n in counted.most_common(_NAMED))
            raise StudyError(
                f"{path}: under the name {model} answered {len(counted)} models: {several}; nothing was kept; take them "
                "for one with --trust model"
            )
    if options.model is None:
        return study_files.names_of(study, reported)
    if len(reported) > 1:
        raise StudyError(
            f"{path}: holds {len(reported)} models, {', '.join(list(reported)[:_NAMED])}; leave --model out"
        )
    if options.model != study_files.slug(options.model):
        raise StudyError(f'--model "{options.model}": use lower-case letters, digits, dots, hyphens')
    return dict.fromkeys(reported, options.model)


def _condition(study: Study | None, name: str, usable: Sequence[Sample]) -> str:
    """Return the condition of a log's answers: that of the study where it asks one that fits, else what replies state.

    Replies that were cut, refused or cannot be read do not count: how many they are is a result, not how it was asked.
    """
    asked: Sequence[str] = ()
    if study is not None and name in study.enabled:
        asked = study.benchmarks[name].model_dump()["conditions"]
    scored = [each for each in usable if each.unscored is None] or usable
    replied = [each for each in scored if each.said.status is Status.OK and each.said.text.strip()]
    replied = replied[:: -(-len(replied) // _TRIED) or 1]  # read in full later: some show how all were asked
    stated = sum(states_confidence(each.said.text) for each in replied)
    words = QuestionRows.in_words
    if words in asked and (stated or all(each.question is None for each in usable)):
        return words
    if stated and 2 * stated >= len(replied):
        return words
    letters = sum(bool(each.said.logprobs) and len(each.said.text.strip()) <= 3 for each in replied)
    return QuestionRows.by_logprob if letters and 2 * letters >= len(replied) else QuestionRows.unstated


def _items(study: Study | None, name: str) -> Sequence[Any]:
    if study is None or name not in study.enabled:
        return ()
    into = bound(study, name)
    try:
        construction.build(into)
        return list(into.items)
    except SourceError:  # no file is named and nothing was imported yet
        return ()


def _about_items(
    path: Path, study: Study, name: str, samples: Sequence[Sample], options: ImportOptions
) -> Imported:
    """Keep samples about items of a benchmark as rows that its own import reads."""
    scored = [each for each in samples if each.why is None and each.unscored is None]
    rows = [
        {"item_id": each.name, "question": (each.question or {}).get("question"), "response": each.said.text,
         "model": each.model, "run": each.run}
        for each in scored
    ]  # fmt: skip
    if options.model is not None and options.model not in {each.name for each in study.models}:
        study = study_files.fitted(study.path, study, {options.model: options.model}, 1)
    into, settings = bound(study, name), dict[int, str]()
    assert into.importer is not None
    how = replace(options, also=lambda row: _reported(scored[row - 1], settings))
    table = Table(path, [{key: value for key, value in row.items() if value is not None} for row in rows])
    found: Imported = into.importer.read(into, table, options.model, None, (), into.importer.condition, how)
    for row, _, reason in found.rejected:
        scored[int(row) - 1].why = reason
    return replace(_done(samples, found), study=load_study(study.path))


# --- answers ----------------------------------------------------------------------------------------------------------
def _mode(each: Sample, graded: bool) -> str:
    """Return what the record of an answer says of how it is read."""
    if each.unscored is not None:
        return f"unscored: {each.unscored}"
    if graded:
        return "graded: ?" if each.right is None else f"graded: {int(each.right)}"
    return f"{ORDER}{each.order}" if each.order else "import"


def _reported(each: Sample, settings: dict[int, str]) -> dict[str, Any]:
    """Return the fields of a record that say how the log says the answer was asked and what it cost.

    ``settings`` holds those that samples share as JSON, by identity.
    """
    said, usage = each.said, each.said.usage
    if id(each.settings) not in settings:
        settings[id(each.settings)] = canonical_json(dict(each.settings))
    found: dict[str, Any] = {
        "model_id": each.model, "model_reported": said.model_reported, "status": said.status.value,
        "request_json": settings[id(each.settings)], "finish_reason": said.finish_reason,
        "logprobs_json": encode_logprobs(said.logprobs), "cost_usd": said.cost_usd, "latency_s": said.latency_s,
        "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens, "cached_tokens": usage.cached_tokens,
        "reasoning_text": said.reasoning_text,
    }  # fmt: skip
    return found if said.started_at is None else {**found, "started_at": said.started_at}


def _records(
    benchmark: str, items: Mapping[str, Any], condition: str, usable: Sequence[Sample], names: Mapping[str, str]
) -> list[Record]:  # fmt: skip
    found: dict[tuple[str, int, str], Record] = {}
    now, settings = datetime.now(UTC), dict[int, str]()
    for each in usable:
        item, model = items[each.item], names[each.model]
        text, mode = each.said.text, _mode(each, item.kind == "graded")
        if mode == "graded: ?":
            each.unscored = "has no short right answer, and the log no verdict"
        made = imported_record(
            benchmark, (each.item, item.item_hash), model=model, run=each.run, condition=condition, step=QuestionRows.step,
            text=text, identity=[benchmark, model, each.run, each.item, condition, text, mode], at=now,
            also={"mode": mode, **_reported(each, settings)},
        )  # fmt: skip
        first = found.setdefault((model, each.run, each.item), made)
        if first is not made:
            each.same = first.answer_id == made.answer_id
            each.why = (
                f"is given twice in one run; {'both are the same' if each.same else 'the first one counts'}"
            )
    return list(found.values())


def _done(samples: Sequence[Sample], found: Imported) -> Imported:
    """Return what became of all samples: those that say once more what is kept are counted, others named."""
    rejected = tuple(
        Rejected(each.name, NOT_KEPT if each.why is not None else UNSCORED, str(each.why or each.unscored))
        for each in samples
        if (each.why or each.unscored) is not None and not each.same
    )
    same = sum(each.same and each.why is not None for each in samples)
    return replace(found, rejected=rejected, rows=len(samples), same=same)


# --- the summary ------------------------------------------------------------------------------------------------------
def _understood(
    done: Imported, samples: Sequence[Sample], names: Mapping[str, str], matched: matching.Matched, into: Any,
    condition: str,
) -> Iterator[str]:  # fmt: skip
    """Yield how a log was understood, each decision in one line."""
    runs = sorted({each.run for each in samples if each.why is None})
    models = ", ".join(name if name == model else f"{name} ({model})" for model, name in names.items())
    about = f"as answers to {into.name} {condition}"
    yield f"{len(samples)} samples of {models}, runs {runs[0]} to {runs[-1]}, {about}"
    found = "questions found by " + ", ".join(f"{by}: {n}" for by, n in matched.by.items())
    if matched.repeats:
        found += f"; {matched.repeats} ask a question of the log once more, under another id: taken as further runs"
    if matched.reordered:
        found += f"; {matched.reordered} show its options in another order: each is read in its own"
    yield found
    lost = sum(each.what == NOT_KEPT for each in done.rejected)
    counted = (
        (done.kept, "kept"), (done.known, "known before"), (done.same, "the same once more"), (lost, "not kept"),
    )  # fmt: skip
    yield f"{done.rows} rows: {', '.join(f'{n} {what}' for n, what in counted if n or 'kept' in what)}"
    reasons = Counter((what, why) for _, what, why in done.rejected)
    for (what, why), n in reasons.most_common(_REASONS):
        yield f"{n} {'sample' if n == 1 else 'samples'} {what}: {one_line(why, 120)}"
    if len(reasons) > _REASONS:
        yield f"{len(reasons) - _REASONS} further reasons are in the list of rows that were not taken"
    yield from _verdicts(samples, into, condition)
    if condition == QuestionRows.unstated:
        yield (
            "no confidence was found, so accuracy alone is measured: ask for one in the prompt (a last line "
            "'Confidence: <0 to 100>'), or log the probabilities of single letters, and import the new log"
        )


def _verdicts(samples: Sequence[Sample], into: Any, condition: str) -> Iterator[str]:
    """Compare the log's verdicts with ours, and report a key that no reply fits."""
    items = {item.item_id: item for item in into.items}
    read_here: list[tuple[Sample, int]] = []
    for each in samples:
        if each.why is None and each.unscored is None and items[each.item].kind != "graded":
            found = parsed(into, items[each.item], condition, each).correct
            read_here += [] if found is None else [(each, int(found))]
    judged = [(each, mine) for each, mine in read_here if each.right is not None]
    if n := len(judged):
        right, own = sum(bool(each.right) for each, _ in judged), sum(mine for _, mine in judged)
        line = f"accuracy by the log's own verdicts {right / n:.3f}, by key {own / n:.3f} of {n}"
        if other := [each.name for each, mine in judged if mine != int(bool(each.right))]:
            first = ", ".join(other[:_NAMED])
            line += f": log and study differ on right or wrong in {len(other)} of {n} samples: {first}; the study counts"
        yield line
    if any(each.order for each, _ in read_here):
        yield _by_position(items, read_here)
    if len(read_here) >= _LEAST_READ and not any(mine for _, mine in read_here):
        key = one_line(str(items[read_here[0][0].item].answer), 40)
        yield (
            f"none of the {len(read_here)} answers is right by the key: is it the right answers, and in the form of the "
            f"replies? such as {key!r}"
        )


def _by_position(items: Mapping[str, Any], read_here: Sequence[tuple[Sample, int]]) -> str:
    """Return the accuracy by the place at which the right option was shown: a position bias shows as a difference."""
    places: dict[int, list[int]] = {}
    for each, mine in read_here:
        if (item := items[each.item]).options:
            places.setdefault((each.order or LETTERS).index(item.answer), []).append(mine)
    parts = (f"{LETTERS[at]} {sum(own) / len(own):.3f} of {len(own)}" for at, own in sorted(places.items()))
    return f"accuracy by the place of the right option (position bias): {', '.join(parts)}"


def parsed(into: Any, item: Any, condition: str, each: Sample) -> Any:
    """Return what the benchmark reads of an answer."""
    said = each.said
    call = Call(
        said.status.value, said.text, _mode(each, item.kind == "graded"), encode_logprobs(said.logprobs)
    )
    return into.parse(item, condition, {QuestionRows.step: call})
