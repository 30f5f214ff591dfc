"""Answers collected elsewhere, kept as those of replayed models: one path for logs and tables of every benchmark.

A file yields a `Sample` for each answer (`logs`, `tables`). Those about questions of one's own are matched with the
questions known (`matching`), those about the items of a benchmark are read by its rules (`answers`). All of it is
decided before anything is written: a file that is refused leaves study and home as they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.asking import construction
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import Bound, bound
from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.errors import SourceError, StudyError, one_line, suggestion
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.interchange import answers, import_rules, matching, study_files, tables
from metacog_pipeline.interchange.import_rules import Imported, ImportOptions, QuestionRows, RowRules
from metacog_pipeline.interchange.logs import reading
from metacog_pipeline.interchange.question import LETTERS, ORDER, states_confidence
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.llm.types import Status, Usage
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.transcripts.lines import encode_logprobs
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import keep_whole, kept_records

_NAMED, _TRIED, _REASONS = 3, 200, 8
_USAGE = [each.name for each in fields(Usage)]


# --- what a file is about ---------------------------------------------------------------------------------------------
def import_file(
    file: Path, study_path: Path, pairs: Sequence[str], condition: str | None, options: ImportOptions
) -> Imported:
    """Import a log or a table, into a study that is made where there is none; ``pairs`` are texts FIELD=COLUMN."""
    study = load_study(study_path) if study_path.exists() else None
    name = target(study, options.benchmark)
    if not file.exists():
        raise StudyError(f"{file}: there is no such file; check the path")
    of_table = pairs or condition or options.words or options.scale
    logged = None if of_table else reading.samples_of(file, options.trust)
    if study is not None and name != own_questions():
        return import_items(benchmark_of(study, name), file, pairs, condition, options, logged)
    found = tables.read(file, pairs, options) if logged is None else logged
    return import_questions(file, study_path, found, options, condition)


def own_questions() -> str:
    """Return the benchmark of the user's own questions."""
    return next(name for name in registry.names() if registry.part(name, "Settings").takes_questions)


def target(study: Study | None, named: str | None) -> str:
    """Return the benchmark a file is about: the one named, the only one of the study, else one's own questions."""
    own, enabled = own_questions(), () if study is None else study.enabled
    name = named or (enabled[0] if len(enabled) == 1 else own)
    if name != own and name not in enabled:
        has = f"it has: {', '.join(enabled) or 'none'}"
        raise StudyError(f'import: "{name}" is not enabled in the study{suggestion(name, enabled)}; {has}')
    return name


def benchmark_of(study: Study, named: str | None) -> Bound:
    """Return the benchmark that a file is about."""
    into = bound(study, target(study, named))
    if into.importer is None:
        instead = "`metacog fit FILE` fits a table of trials"
        raise StudyError(f"import: answers to {into.name} cannot be imported; {instead}")
    return into


# --- items of a benchmark ---------------------------------------------------------------------------------------------
def import_items(
    into: Bound, file: Path, pairs: Sequence[str] = (), condition: str | None = None,
    options: ImportOptions | None = None, logged: Iterable[Sample] | None = None,
) -> Imported:  # fmt: skip
    """Keep the answers of a table, or those ``logged``, as those of replayed models: all or, where refused, none."""
    study, options = into.study, options or ImportOptions()
    if options.model is not None:
        study.model(options.model)  # a name that is spelled wrong is no new model
    rules = _built(into)
    usual = condition or rules.condition
    if logged is None:
        samples, summary = answers.of_table(file, rules, pairs, usual, options)
    else:
        samples, summary = answers.of_log(file, rules, [*logged], options)
    found, names = read_items(file, rules, samples, summary, study, options)
    _refuse_others(file, study, into.name, found.records, options.trust)
    made = study_files.extend(study.path, study, names, max(each.run for each in found.records))
    options.report(summary)
    return replace(found, study=made, known=_keep(made, into.name, found.records))


def read_items(
    path: Path, rules: RowRules, samples: Sequence[Sample], summary: Sequence[str], study: Study | None,
    options: ImportOptions,
) -> tuple[Imported, Mapping[str, str]]:  # fmt: skip
    """Return samples with their items as records, and the names their models have in ``study``; nothing is kept."""
    names = _models(path, study, samples, options)
    _usable(path, samples)
    items = {item.item_id: item for item in rules.items}
    records = _records(rules.benchmark.name, items, rules.condition, rules.all_steps, samples, names)
    return _done(samples, Imported(records, summary=tuple(summary))), names


def read_respondents(
    into: Bound, file: Path, pairs: Sequence[str], condition: str | None, options: ImportOptions
) -> Imported:
    """Return the answers of each person that the column ``options.people`` names, the model of their records."""
    rules, summary = _built(into), list[str]()
    usual = condition or rules.condition
    if into.name != own_questions():
        samples, summary = answers.of_table(file, rules, pairs, usual, options)
    else:
        samples = tables.read(file, pairs, options)
        matching.match(file, into.items, samples, options.trust, new=False)
        for each in samples:
            each.condition = usual
    found, _ = read_items(file, rules, samples, summary, None, options)
    options.report(summary)
    return found


def _built(into: Bound) -> RowRules:
    # rows are held to the items, so these are built first where they are stale
    into.study.prepare()
    try:
        construction.build(into)
    except SourceError as error:
        raise StudyError(str(error)) from None
    assert into.importer is not None  # `benchmark_of` refuses the others
    rules: RowRules = into.importer(into)
    return rules


# --- questions of one's own -------------------------------------------------------------------------------------------
def import_questions(
    path: Path, study_path: Path, found: Iterable[Sample], options: ImportOptions, condition: str | None = None
) -> Imported:  # fmt: skip
    """Keep samples as answers of replayed models; StudyError where they are refused, nothing is kept then."""
    samples, study = list(found), load_study(study_path) if study_path.exists() else None
    names = _models(path, study, samples, options)
    name = own_questions()
    condition = condition or _condition(study, name, _usable(path, samples))
    matched = matching.match(path, _items(study, name), samples, options.trust)
    usable = _usable(path, samples)  # without those of whose question there is no item
    records = _records(name, matched.items, condition, QuestionRows.all_steps, samples, names)
    if study is not None and name in study.enabled:  # a conflict is found before the study file is changed
        _refuse_others(path, study, name, records, options.trust)
    made = study_files.extend(study_path, study, names, max(each.run for each in usable), (name, condition))
    made.prepare()
    if matched.new:
        matched.keep(made.home.imported)
    into = bound(made, name)
    construction.build(into)
    done = _done(samples, Imported(records, study=made, known=_keep(made, name, records)))
    options.report(_understood(done, samples, names, matched, into, condition))  # every reply is read for it
    return done


def _condition(study: Study | None, name: str, usable: Sequence[Sample]) -> str:
    """Return the condition of a log's answers: that of the study where it asks one that fits, else what replies state."""
    asked: Sequence[str] = ()
    if study is not None and name in study.enabled:
        asked = study.benchmarks[name].model_dump()["conditions"]
    # Replies that were cut, refused or cannot be read do not count: how many they are is a result, not how it was asked.
    scored = [each for each in usable if each.unscored is None] or usable
    replied = [each for each in scored if each.said.status is Status.OK and each.said.text.strip()]
    replied = replied[:: -(-len(replied) // _TRIED) or 1]  # read in full later: some show how all were asked
    stated, words = sum(states_confidence(each.said.text) for each in replied), QuestionRows.condition
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


# --- samples become records ---------------------------------------------------------------------------------------------
def _usable(path: Path, samples: Sequence[Sample]) -> list[Sample]:
    """Return the samples that can be kept; StudyError with the reason of the first where none can."""
    if usable := [each for each in samples if each.why is None]:
        return usable
    why = "".join(f": {each.place}: {each.reason}" for each in map(_rejected, samples[:1]))
    raise StudyError(f"{path}: none of its {len(samples)} rows can be used{why}; nothing was kept")


def _rejected(each: Sample) -> import_rules.Rejected:
    what = import_rules.NOT_KEPT if each.why else import_rules.UNSCORED
    return import_rules.Rejected(each.row or each.name, what, str(each.why or each.unscored))


def _models(
    path: Path, study: Study | None, samples: Sequence[Sample], options: ImportOptions
) -> dict[str, str]:
    """Return {model in the file: its name here}; refuse two models under one name. Runs begin where the options say."""
    stated = {each.model for each in samples if each.model}
    only = options.model or (next(iter(stated)) if len(stated) == 1 else "")
    later = (options.run or 1) - 1 + any(each.run == 0 for each in samples)
    reported: dict[str, Counter[str]] = {}
    for each in samples:
        each.run += later
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
    if options.people:
        return {name: name for name in reported}
    if options.model is None:
        return study_files.names_of(study, reported)
    if len(reported) > 1:
        several = f"{len(reported)} models, {', '.join(list(reported)[:_NAMED])}"
        raise StudyError(f"{path}: holds {several}; leave --model out")
    if options.model != study_files.slug(options.model):
        raise StudyError(f'--model "{options.model}": use lower-case letters, digits, dots, hyphens')
    return dict.fromkeys(reported, options.model)


def _mode(each: Sample, graded: bool) -> str:
    # scoring reads the record alone: what is not scored, what the log decided and the order of options have to be in it
    if each.unscored is not None:
        return f"unscored: {each.unscored}"
    if graded:
        return "graded: ?" if each.right is None else f"graded: {int(each.right)}"
    return f"{ORDER}{each.order}" if each.order else "import"


def _records(
    benchmark: str, items: Mapping[str, Any], condition: str, steps: Sequence[str], samples: Sequence[Sample],
    names: Mapping[str, str],
) -> list[Record]:  # fmt: skip
    """Return the records of samples that can be kept, under ``condition`` those that name none."""
    found: dict[tuple[str, ...], Record] = {}
    now, settings = datetime.now(UTC), dict[int, str]()  # settings that samples share are written once
    for each in (one for one in samples if one.why is None):
        item, model, under, said = items[each.item], names[each.model], each.condition or condition, each.said
        mode = _mode(each, getattr(item, "kind", "") == "graded")
        if mode == "graded: ?":
            each.unscored = "has no short right answer, and the log no verdict"
        if id(each.settings) not in settings:
            settings[id(each.settings)] = canonical_json(dict(each.settings))
        for step, text in (each.texts or {steps[0]: said.text}).items():
            own = [step] if len(steps) > 1 else []
            # what makes it the same answer when it is imported again
            identity = [benchmark, model, each.run, each.item, under, *own, text, mode]
            made = Record(**{
                **import_rules.UNKNOWN, **{name: getattr(said.usage, name) for name in _USAGE},
                "answer_id": sha256_hex(canonical_json(identity)),
                "benchmark": benchmark, "model": model, "run": each.run, "item_id": each.item,
                "item_hash": item.item_hash, "condition": under, "step": step, "mode": mode, "text": text,
                "model_id": each.model, "model_reported": said.model_reported, "status": said.status.value,
                "request_json": settings[id(each.settings)], "finish_reason": said.finish_reason,
                "logprobs_json": encode_logprobs(said.logprobs), "cost_usd": said.cost_usd,
                "latency_s": said.latency_s, "started_at": said.started_at or now, "reasoning_text": said.reasoning_text,
            })  # fmt: skip
            first = found.setdefault((model, str(each.run), each.item, under, step), made)
            if first is not made:
                each.same = first.answer_id == made.answer_id
                which = "both are the same" if each.same else "the first one counts"
                each.why = f"is given twice in one run; {which}"
    return list(found.values())


def _done(samples: Sequence[Sample], found: Imported) -> Imported:
    """Return what became of all samples: those that say once more what is kept are counted, others named."""
    odd = (each for each in samples if (each.why or each.unscored) is not None and not each.same)
    rejected = [_rejected(each) for each in odd]
    same = sum(each.same and each.why is not None for each in samples)
    return replace(found, rejected=tuple(rejected), rows=len(samples), same=same)


def by_partition(records: Iterable[Record]) -> dict[tuple[str, int], list[Record]]:
    """Return records by model and run."""
    found: dict[tuple[str, int], list[Record]] = {}
    for each in records:
        found.setdefault((each.model, each.run), []).append(each)
    return found


def _refuse_others(
    path: Path, study: Study, benchmark: str, records: Iterable[Record], trust: Sequence[str]
) -> None:
    """Refuse answers of a model that is asked here, and other answers to calls of one run unless ``run`` is trusted."""
    known = {each.name: each for each in study.models}
    for (model, run), own in by_partition(records).items():
        if model not in known:
            continue
        if known[model].provider != "replay":
            raise StudyError(
                f'{path}: model "{model}" of the study is asked, not replayed: imported answers are never mixed with '
                'answers asked here; name one with provider = "replay"'
            )
        folder = Partition(study, benchmark, known[model], run).folder
        there = {_call(each): each.text for each in kept_records(folder)}
        other = [each.item_id for each in own if there.get(_call(each), each.text) != each.text]
        if other and "run" not in trust:
            raise StudyError(
                f"{path}: run {run} of {model} has other answers to {len(other)} of these questions, such as {other[0]}; "
                "nothing was kept; import it as another run with --run, as another model with --model, or in their place "
                "with --trust run"
            )


def _call(record: Record) -> tuple[str, str, str]:
    return record.item_id, record.condition, record.step


def _keep(study: Study, benchmark: str, records: Iterable[Record]) -> int:
    # what is kept already is known by its answer_id, so that the same file can be imported again
    known = 0
    for (model, run), own in by_partition(records).items():
        folder = Partition(study, benchmark, study.model(model), run).folder
        standing = {each.answer_id for each in {_call(each): each for each in kept_records(folder)}.values()}
        fresh = [each for each in own if each.answer_id not in standing]
        keep_whole(folder, fresh)
        known += len(own) - len(fresh)
    return known


# --- the summary ------------------------------------------------------------------------------------------------------
def _understood(
    done: Imported, samples: Sequence[Sample], names: Mapping[str, str], matched: matching.Matched, into: Any,
    condition: str,
) -> Iterator[str]:  # fmt: skip
    """Yield how a log was understood, each decision in one line."""
    runs = [each.run for each in samples if each.why is None]
    models = ", ".join(name if name == model else f"{name} ({model})" for model, name in names.items())
    about = f"as answers to {into.name} {condition}"
    yield f"{len(samples)} samples of {models}, runs {min(runs)} to {max(runs)}, {about}"
    yield "questions found by " + ", ".join(f"{by}: {n}" for by, n in matched.by.items())
    if matched.repeats:
        yield f"{matched.repeats} ask a question of the log once more, under another id: taken as further runs"
    if matched.reordered:
        yield f"{matched.reordered} show their options in another order: each is read in its own"
    lost = sum(each.what == import_rules.NOT_KEPT for each in done.rejected)
    before = f"{done.known} known before, {done.same} the same once more"
    yield f"{done.rows} rows: {done.kept} kept, {before}, {lost} not kept"
    reasons = Counter((what, why) for _, what, why in done.rejected)
    for (what, why), n in reasons.most_common(_REASONS):
        yield f"{n} {'sample' if n == 1 else 'samples'} {what}: {one_line(why, 120)}"
    yield from _verdicts(samples, into, condition)
    if condition == QuestionRows.unstated:
        yield (
            "no confidence was found, so accuracy alone is measured: ask for one in the prompt (a last line "
            "'Confidence: <0 to 100>'), or log the probabilities of single letters, and import the new log"
        )


def _verdicts(samples: Sequence[Sample], into: Any, condition: str) -> Iterator[str]:
    """Compare the log's verdicts with ours, and accuracy over the places in which the right option was shown."""
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
    if any(each.order for each, _ in read_here):  # a position bias shows as a difference
        places: dict[str, list[int]] = {}
        for each, mine in read_here:
            if (item := items[each.item]).options:
                places.setdefault(LETTERS[(each.order or LETTERS).index(item.answer)], []).append(mine)
        parts = (f"{at} {sum(own) / len(own):.3f} of {len(own)}" for at, own in sorted(places.items()))
        yield f"accuracy by the place of the right option (position bias): {', '.join(parts)}"


def parsed(into: Any, item: Any, condition: str, each: Sample) -> Any:
    """Return what the benchmark reads of an answer."""
    said, mode = each.said, _mode(each, item.kind == "graded")
    call = Call(said.status.value, said.text, mode, encode_logprobs(said.logprobs))
    return into.parse(item, condition, {QuestionRows.step: call})
