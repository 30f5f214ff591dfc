"""The way of a log into a study: its models, its runs, its questions, and an answer for every sample that can be used.

Everything is decided before anything is written: a log that is refused leaves study and home as they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.asking import construction
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.errors import SourceError, StudyError
from metacog_pipeline.files import canonical_json, write_text
from metacog_pipeline.interchange.answer_files import Table
from metacog_pipeline.interchange.imported import Imported, ImportOptions, imported_record
from metacog_pipeline.interchange.importing import takes
from metacog_pipeline.interchange.logs import matching, study_files, summary
from metacog_pipeline.interchange.logs.tables import FIELDS
from metacog_pipeline.interchange.question import ORDER, states_confidence
from metacog_pipeline.interchange.question_rules import QuestionRows
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.llm.types import Status
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.transcripts.lines import encode_logprobs
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import keep_whole, kept_records

TRUSTED = ("correct", "key", "model", "run", "status")
_NAMED, _TRIED = 3, 200
NOT_KEPT, UNSCORED, SAME = "not kept", "kept, not scored", "the same"


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
    name, adopts = _benchmark(path, study, usable, options)
    if not adopts:
        assert study is not None
        return _into_another(path, study, name, samples, names, options)
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
    if study is not None:  # a conflict is found before the study file is changed
        _refuse_others(path, study, name, condition, usable, names, options)
    made = study_files.fitted(study_path, study, names, max(each.run for each in usable), tables, lacks)
    made.prepare()
    if matched.new:
        matching.keep_new(made.home.imported, matched)
    into = bound(made, name)
    if not construction.items_current(into):
        construction.build(into)
    kept, known = _keep(into, made, condition, usable, names)
    left, same = _left_out(samples), sum(each.same and each.why is not None for each in samples)
    done = Done(made, kept, known, left, len(samples), same)
    summary.show(done, samples, names, matched, into, condition, options)
    return done


def _usable(path: Path, samples: Sequence[Sample]) -> list[Sample]:
    usable = [each for each in samples if each.why is None]
    if not usable:
        first = next((f": {_called(each)} {each.why}" for each in samples), "")
        asks = any("no item is called" in str(each.why) or each.asked for each in samples)
        raise StudyError(
            f"{path}: none of its {len(samples)} samples can be used{first}; nothing was kept"
            + ("; name the study that asks its questions with --study" if asks else "")
        )
    return usable


def _called(each: Sample) -> str:
    """Return what a sample is called in a sentence: a table's say that they are rows, a log's may be a bare number."""
    return each.name if each.name.startswith(("row ", "line ")) else f"sample {each.name}:"


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


def _benchmark(
    path: Path, study: Study | None, usable: Sequence[Sample], options: LogOptions
) -> tuple[str, bool]:
    """Return the benchmark the samples are about, and whether their questions become items of it."""
    own = _own_questions()
    enabled = () if study is None else study.enabled
    if options.benchmark is not None:
        if options.benchmark != own and options.benchmark not in enabled:
            raise StudyError(
                f'import: "{options.benchmark}" is not enabled in the study; it has: {", ".join(enabled) or "none"}'
            )
        return options.benchmark, options.benchmark == own
    for name in enabled:
        if study is None or registry.part(name, "Settings").takes_questions:
            continue
        if _fits(bound(study, name), _table(path, usable[:_TRIED])):
            return name, False
    return own, True


def brings_questions(
    study: Study | None,
    path: Path,
    about: tuple[str | None, int | None, str | None],
    pairs: Sequence[str],
    options: ImportOptions,
) -> bool:
    """Whether a table that is not about items of the study may bring questions of its own.

    ``about`` is the model, run and benchmark that were named: with model and run it may be about questions that are there.
    """
    own = _own_questions()
    model, run, benchmark = about
    if benchmark not in (None, own):
        return False
    if study is None or (benchmark == own and own not in study.enabled):
        return True
    names = [benchmark] if benchmark is not None else list(study.enabled)
    if own not in names and len(names) == 1:
        return False
    mapped = {pair.partition("=")[0] for pair in pairs}
    if not mapped <= {*FIELDS} and any(takes(bound(study, name), pairs) for name in names):
        return False
    fits = [name for name in names if _fits(bound(study, name), path, pairs, options)]
    return not fits or (fits == [own] and (model is None or run is None))


def _fits(
    into: Any, path: Path | Table, pairs: Sequence[str] = (), options: ImportOptions | None = None
) -> bool:
    """Whether a table is about the items of a benchmark that can tell."""
    misfit = None if into.importer is None else into.importer.misfit
    return misfit is not None and misfit(into, path, pairs, options or ImportOptions()) is None


def _own_questions() -> str:
    return next(name for name in registry.names() if registry.part(name, "Settings").takes_questions)


def _condition(study: Study | None, name: str, usable: Sequence[Sample]) -> str:
    """Return the condition of a log's answers: that of the study where it asks one that fits, else what replies state.

    Replies that were cut, refused or cannot be read do not count: how many they are is a result, not how it was asked.
    """
    asked = (
        study.benchmarks[name].model_dump()["conditions"]
        if study is not None and name in study.enabled
        else ()
    )
    scored = [each for each in usable if each.unscored is None] or usable
    replied = [each for each in scored if each.said.status is Status.OK and each.said.text.strip()]
    replied = replied[:: -(-len(replied) // _TRIED) or 1]  # read in full later: some tell how all were asked
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
        if not construction.items_current(into):
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


_last: list[Any] = [None, "{}"]  # samples of one log share their settings


def _settings(settings: Mapping[str, Any]) -> str:
    if _last[0] is not settings:
        _last[:] = settings, canonical_json(dict(settings))
    return str(_last[1])


def _told(each: Sample) -> dict[str, Any]:
    """Return the fields of a record that say how the log says the answer was asked and what it cost."""
    said, usage = each.said, each.said.usage
    told: dict[str, Any] = {
        "model_id": each.model,
        "model_reported": said.model_reported,
        "status": said.status.value,
        "request_json": _settings(each.settings),
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
    if said.started_at is not None:
        told["started_at"] = said.started_at
    return told


def _records(
    into: Any, condition: str, usable: Sequence[Sample], names: Mapping[str, str]
) -> dict[tuple[str, int], list[Record]]:
    items = {item.item_id: (item.item_hash, item.kind == "graded") for item in into.items}
    found: dict[tuple[str, int], dict[str, Record]] = {}
    now = datetime.now(UTC)
    for each in usable:
        item_id, model = each.item, names[each.model]
        digest, graded = items[item_id]
        text, mode = each.said.text, mode_of(each, graded)
        if graded and each.right is None and each.unscored is None:
            each.unscored = "has no short right answer, and the log no verdict"
        identity = [into.name, model, each.run, item_id, condition, text, mode]
        made = imported_record(
            into.name, (item_id, digest), model=model, run=each.run, condition=condition, step=QuestionRows.step,
            text=text, identity=identity, at=now, also={"mode": mode, **_told(each)},
        )  # fmt: skip
        first = found.setdefault((model, each.run), {}).setdefault(item_id, made)
        if first is not made:
            each.same = first.answer_id == made.answer_id
            each.why = (
                f"is given twice in one run; {'both are the same' if each.same else 'the first one counts'}"
            )
    return {place: list(own.values()) for place, own in found.items()}


def _refuse_others(
    path: Path, study: Study, name: str, condition: str, usable: Sequence[Sample], names: Mapping[str, str],
    options: LogOptions,
) -> None:  # fmt: skip
    """Refuse a log whose answers are others than those kept of the same model, run and item."""
    if "run" in options.trust or name not in study.enabled:
        return
    texts: dict[tuple[str, int], dict[str, str]] = {}
    for each in usable:
        own = texts.setdefault((names[each.model], each.run), {})
        own.setdefault(each.item, each.said.text)  # of two the first one counts
    for (model, run), own in texts.items():
        spec = next((each for each in study.models if each.name == model), None)
        if spec is None:
            continue
        if spec.provider != "replay":
            raise StudyError(
                f'{path}: model "{model}" of the study is asked, not replayed; name another with --model'
            )
        partition = Partition(study, name, spec, run)
        there = (each for each in kept_records(partition.folder) if each.condition == condition)
        kept = {each.item_id: each.text for each in there}
        if other := [item_id for item_id, text in own.items() if kept.get(item_id, text) != text]:
            raise StudyError(
                f"{path}: run {run} of {model} has other answers to {len(other)} of these questions, such as {other[0]}; "
                "nothing was kept; import it as another run with --run, as another model with --model, or in their place "
                "with --trust run"
            )


def _keep(
    into: Any, study: Study, condition: str, usable: Sequence[Sample], names: Mapping[str, str]
) -> tuple[int, int]:
    kept = known = 0
    for (model, run), records in _records(into, condition, usable, names).items():
        partition = Partition(study, into.name, study.model(model), run)
        there = {(each.item_id, each.condition): each.answer_id for each in kept_records(partition.folder)}
        new = [each for each in records if there.get((each.item_id, each.condition)) != each.answer_id]
        keep_whole(partition.folder, new)
        kept, known = kept + len(new), known + len(records) - len(new)
    return kept, known


# --- benchmarks with items of their own -------------------------------------------------------------------------------
def _table(path: Path, samples: Sequence[Sample]) -> Table:
    """Return samples as a table that every benchmark's import reads."""
    rows = []
    for each in samples:
        asked = each.question or {}
        row = {
            "item_id": None if each.asked else each.name,
            "question": asked.get("question") or each.asked or None,
            "response": each.said.text,
        }
        rows.append({name: value for name, value in row.items() if value is not None})
    return Table(path, rows)


def _into_another(
    path: Path,
    study: Study,
    name: str,
    samples: Sequence[Sample],
    names: Mapping[str, str],
    options: LogOptions,
) -> Done:
    scored: dict[tuple[str, int], list[Sample]] = {}
    for each in samples:
        if each.why is None and each.unscored is None:
            scored.setdefault((each.model, each.run), []).append(each)
    before = study.path.read_text("utf-8")
    made = study_files.fitted(study.path, study, names, max((run for _, run in scored), default=1))
    into, kept = bound(made, name), 0
    assert into.importer is not None
    rejected: list[tuple[str, str, str]] = []
    for keep in (False, True):  # what is refused, is before anything is kept
        for (model, run), own in scored.items():
            enrich = partial(_enriched, own)
            how = ImportOptions(trust=options.trust, show=options.show, enrich=enrich, keep=keep)
            about = names[model], run, (), into.importer.condition
            try:
                done = into.importer.read(into, _table(path, own), *about, how)
            except StudyError:
                if not keep and made is not study:
                    write_text(study.path, before)
                raise
            if keep:
                kept += len(done.records)
                rejected += [(own[each.row - 1].name, NOT_KEPT, each.reason) for each in done.rejected]
    left = (*_left_out(samples), *rejected)
    return Done(made, kept, 0, left, len(samples), sum(each.same for each in samples))


def _enriched(samples: Sequence[Sample], found: Imported) -> tuple[Record, ...]:
    pairs = zip(found.records, found.rows, strict=True)
    return tuple(replace(record, **_told(samples[row - 1])) for record, row in pairs)


def _left_out(samples: Iterable[Sample]) -> tuple[tuple[str, str, str], ...]:
    """Return the rows that are not kept, but for those that say once more what is, and the rows that are not scored."""
    left = [each for each in samples if (each.why or each.unscored) is not None and not each.same]
    return tuple(
        (each.name, NOT_KEPT if each.why is not None else UNSCORED, str(each.why or each.unscored))
        for each in left
    )
