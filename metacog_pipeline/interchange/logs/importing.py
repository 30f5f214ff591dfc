"""The samples of a log, or of a table that brings its questions, as answers of a study: models, runs, questions, answers.

Everything is decided before anything is written: a log that is refused leaves study and home as they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.asking import construction
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.errors import SourceError, StudyError, suggestion
from metacog_pipeline.files import canonical_json
from metacog_pipeline.interchange import study_files
from metacog_pipeline.interchange.answer_files import Table
from metacog_pipeline.interchange.imported import ImportOptions, imported_record
from metacog_pipeline.interchange.importing import keep, refuse_others
from metacog_pipeline.interchange.logs import matching, summary
from metacog_pipeline.interchange.question import ORDER, states_confidence
from metacog_pipeline.interchange.question_rules import QuestionRows
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.llm.types import Status
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.transcripts.lines import encode_logprobs
from metacog_pipeline.transcripts.schema import Record

TRUSTED = ("correct", "key", "model", "run", "status")
_NAMED, _TRIED = 3, 200
NOT_KEPT, UNSCORED = "not kept", "kept, not scored"


@dataclass(frozen=True, slots=True)
class LogOptions:
    """``model`` renames the only model of a log; ``run`` is what its first run becomes; ``benchmark`` names one of the
    study; ``trust`` takes what disagrees: ``key``, ``model``, ``run`` or ``status``; ``show`` gets each line of the
    summary."""

    model: str | None = None
    run: int = 1
    benchmark: str | None = None
    trust: tuple[str, ...] = ()
    show: Callable[[str], None] | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What an import did: the study, answers kept and known before, and (name, what, reason) of every other row.

    ``rows`` of the log are those kept, those known, and those of ``left_out`` and ``same`` that are not kept.
    """

    study: Study
    kept: int
    known: int
    left_out: tuple[tuple[str, str, str], ...]
    rows: int = 0
    same: int = 0


def import_log(path: Path, study_path: Path, found: Iterable[Sample], options: LogOptions) -> Done:
    """Keep the answers of a log as those of replayed models; StudyError where it is refused, nothing is kept then."""
    samples = list(found)
    study = load_study(study_path) if study_path.exists() else None
    usable = _usable(path, samples)
    for each in samples:
        each.run += options.run - 1
    names = _models(path, study, samples, options)
    name = target(study, options.benchmark)
    if study is not None and name != own_questions():
        return _about_items(path, study, name, samples, options)
    if unknown := [each for each in options.trust if each not in TRUSTED]:
        raise StudyError(f"--trust {unknown[0]}: give one of {', '.join(TRUSTED)}; nothing was kept")
    condition = _condition(study, name, usable)
    matched = matching.match(path, _items(study, name), samples, options.trust)
    usable = _usable(path, samples)
    tables, lacks = [], None
    if study is None or name not in study.benchmarks:
        tables = [f'[benchmarks.{name}]\nitems = []\nconditions = ["{condition}"]\nallow_incomplete = true']
    elif condition not in study.benchmarks[name].model_dump()["conditions"]:
        lacks = name, condition
    records = _records(name, matched.items, condition, usable, names)
    if study is not None and name in study.enabled:  # a conflict is found before the study file is changed
        refuse_others(path, study, name, records, options.trust)
    made = study_files.fitted(study_path, study, names, max(each.run for each in usable), tables, lacks)
    made.prepare()
    if matched.new:
        matching.keep_new(made.home.imported, matched)
    into = bound(made, name)
    construction.build(into)
    kept, known = keep(made, name, records)
    same = sum(each.same and each.why is not None for each in samples)
    done = Done(made, kept, known, _left_out(samples), len(samples), same)
    if options.show is not None:
        for line in summary.lines(done, samples, names, matched, into, condition):
            options.show(line)
    return done


def _usable(path: Path, samples: Sequence[Sample]) -> list[Sample]:
    usable = [each for each in samples if each.why is None]
    if not usable:
        asks = any("no item is called" in str(each.why) for each in samples)
        first = samples[0] if samples else None
        # a table's rows say that they are rows, a log's samples may be bare numbers
        called = (
            ""
            if first is None
            else first.name
            if first.name.startswith(("row ", "line "))
            else f"sample {first.name}:"
        )
        raise StudyError(
            f"{path}: none of its {len(samples)} samples can be used"
            f"{'' if first is None else f': {called} {first.why}'}; nothing was kept"
            + ("; name the study that asks its questions with --study" if asks else "")
        )
    return usable


# --- what the log is about --------------------------------------------------------------------------------------------
def _models(
    path: Path, study: Study | None, samples: Sequence[Sample], options: LogOptions
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
            told = ", ".join(f"{name} ({n})" for name, n in counted.most_common(_NAMED))
            raise StudyError(
                f"{path}: under the name {model} answered {len(counted)} models: {told}; nothing was kept; take them for "
                "one with --trust model"
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


# --- answers ----------------------------------------------------------------------------------------------------------
def mode_of(each: Sample, graded: bool) -> str:
    """Return what the record of an answer says of how it is read."""
    if each.unscored is not None:
        return f"unscored: {each.unscored}"
    if graded:
        return "graded: ?" if each.right is None else f"graded: {int(each.right)}"
    return f"{ORDER}{each.order}" if each.order else "import"


def _told(each: Sample, settings: dict[int, str]) -> dict[str, Any]:
    """Return the fields of a record that say how the log says the answer was asked and what it cost.

    ``settings`` holds those that samples share as JSON, by identity.
    """
    said, usage = each.said, each.said.usage
    if id(each.settings) not in settings:
        settings[id(each.settings)] = canonical_json(dict(each.settings))
    told: dict[str, Any] = {
        "model_id": each.model,
        "model_reported": said.model_reported,
        "status": said.status.value,
        "request_json": settings[id(each.settings)],
        "finish_reason": said.finish_reason,
        "logprobs_json": encode_logprobs(said.logprobs),
        "cost_usd": said.cost_usd,
        "latency_s": said.latency_s,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cached_tokens": usage.cached_tokens,
        "reasoning_text": said.reasoning_text,
    }
    return told if said.started_at is None else {**told, "started_at": said.started_at}


def _records(
    benchmark: str,
    items: Mapping[str, Any],
    condition: str,
    usable: Sequence[Sample],
    names: Mapping[str, str],
) -> list[Record]:
    found: dict[tuple[str, int, str], Record] = {}
    now, settings = datetime.now(UTC), dict[int, str]()
    for each in usable:
        item, model = items[each.item], names[each.model]
        graded = item.kind == "graded"
        text, mode = each.said.text, mode_of(each, graded)
        if graded and each.right is None and each.unscored is None:
            each.unscored = "has no short right answer, and the log no verdict"
        made = imported_record(
            benchmark, (each.item, item.item_hash), model=model, run=each.run, condition=condition, step=QuestionRows.step,
            text=text, identity=[benchmark, model, each.run, each.item, condition, text, mode], at=now,
            also={"mode": mode, **_told(each, settings)},
        )  # fmt: skip
        first = found.setdefault((model, each.run, each.item), made)
        if first is not made:
            each.same = first.answer_id == made.answer_id
            each.why = (
                f"is given twice in one run; {'both are the same' if each.same else 'the first one counts'}"
            )
    return list(found.values())


# --- benchmarks with items of their own -------------------------------------------------------------------------------
def _table(path: Path, samples: Sequence[Sample]) -> Table:
    """Return samples as a table that every benchmark's import reads."""
    rows = []
    for each in samples:
        asked = each.question or {}
        row = {
            "item_id": each.name,
            "question": asked.get("question") or None,
            "response": each.said.text,
            "model": each.model,
            "run": each.run,
        }
        rows.append({name: value for name, value in row.items() if value is not None})
    return Table(path, rows)


def _about_items(path: Path, study: Study, name: str, samples: Sequence[Sample], options: LogOptions) -> Done:
    scored = [each for each in samples if each.why is None and each.unscored is None]
    settings = dict[int, str]()
    how = ImportOptions(
        trust=options.trust, show=options.show, also=lambda row: _told(scored[row - 1], settings)
    )
    if options.model is not None and options.model not in {each.name for each in study.models}:
        study = study_files.fitted(study.path, study, {options.model: options.model}, 1)
    into = bound(study, name)
    assert into.importer is not None
    found = into.importer.read(
        into, _table(path, scored), options.model, None, (), into.importer.condition, how
    )
    rejected = [(scored[each.row - 1].name, NOT_KEPT, each.reason) for each in found.rejected]
    left = (*_left_out(samples), *rejected)
    kept, same = len(found.records) - found.known, sum(each.same for each in samples)
    return Done(load_study(study.path), kept, found.known, left, len(samples), same)


def _left_out(samples: Iterable[Sample]) -> tuple[tuple[str, str, str], ...]:
    """Return the rows that are not kept, but for those that say once more what is, and the rows that are not scored."""
    left = [each for each in samples if (each.why or each.unscored) is not None and not each.same]
    return tuple(
        (each.name, NOT_KEPT if each.why is not None else UNSCORED, str(each.why or each.unscored))
        for each in left
    )
