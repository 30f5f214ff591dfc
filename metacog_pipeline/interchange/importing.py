"""Answers collected elsewhere, kept as those of replayed models: one path for logs and tables of every benchmark.

A file yields a `Sample` for each answer (`logs`, `tables`). Those about questions of one's own are matched with the
questions known (`matching`), those about the items of a benchmark are read by its rules (`answers`). All of it is
decided before anything is written: a file that is refused leaves study and home as they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.asking import construction
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.errors import SourceError, StudyError, one_line, suggestion
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.interchange import answers, columns, import_rules, matching
from metacog_pipeline.interchange.import_rules import Imported, ImportOptions, QuestionRows, RowRules
from metacog_pipeline.interchange.logs import reading
from metacog_pipeline.interchange.question import LETTERS, states_confidence
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.llm.types import Status, Usage
from metacog_pipeline.study import Study, extending, load_study, new_file
from metacog_pipeline.transcripts.lines import encode_logprobs
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import keep_whole, kept_records

_NAMED, _TRIED, _REASONS = 3, 200, 8
_USAGE = [each.name for each in fields(Usage)]


@dataclass(slots=True)
class Read:
    """What a file says, before anything of it is kept."""

    rules: RowRules
    samples: Sequence[Sample]
    names: Mapping[str, str]  # of its models in the study
    lines: list[str]  # how it was understood
    records: list[Record]
    matched: matching.Matched | None = None  # with questions of one's own

    def summed_up(self, options: ImportOptions) -> Imported:
        """Return what became of all samples, and how they were understood: each decision is one line."""
        odd = (each for each in self.samples if (each.why or each.unscored) is not None and not each.same)
        rejected, taken = [*map(_rejected, odd)], [each for each in self.samples if each.why is None]
        every, same, summary = len(self.samples), sum(each.same for each in self.samples), list[str]()
        if not options.quiet:
            lost = every - len(taken) - same
            rows = f"{every} rows: {len(taken)} taken, {same} the same once more, {lost} not kept"
            summary += [*_head(self.rules, taken, self.records), *self.lines, rows]
            summary += [*_reasons(rejected), *_verdicts(self.rules, taken)]
        return Imported(self.records, tuple(rejected), tuple(summary), rows=every, same=same)


# --- a file -----------------------------------------------------------------------------------------------------------
def import_file(file: Path, study_path: Path, options: ImportOptions) -> Imported:
    """Keep the answers of a log or a table as those of replayed models, in a study that is made where there is none.

    Raises StudyError where the file is refused; study and home are as they were then.
    """
    study = load_study(study_path) if study_path.exists() else None
    name = target(study, options.benchmark)
    found = read(file, study, name, options)
    fresh = _fresh(file, study, name, found.records, options.trust)
    runs = max(each.run for each in found.records)
    asked = None if found.matched is None else (name, found.samples[0].condition)
    made = extending.extend(study_path, study, found.names, runs, asked)
    if found.matched is not None:
        made.prepare()
        found.matched.keep(made.home.imported)
        found.rules.benchmark = bound(made, name)
        construction.build(found.rules.benchmark)
    done = found.summed_up(options)
    for (model, run), own in fresh.items():
        keep_whole(Partition(made, name, made.model(model), run).folder, own)
    return replace(done, study=made, known=len(found.records) - sum(map(len, fresh.values())))


def target(study: Study | None, named: str | None) -> str:
    """Return the benchmark a file is about: the one named, the only one of the study, else one's own questions."""
    own = next(name for name in registry.names() if registry.part(name, "Settings").takes_questions)
    enabled = () if study is None else study.enabled
    name = named or (enabled[0] if len(enabled) == 1 else own)
    if name != own and name not in enabled:
        has = f"it has: {', '.join(enabled) or 'none'}"
        raise StudyError(f'import: "{name}" is not enabled in the study{suggestion(name, enabled)}; {has}')
    return name


def read(file: Path, study: Study | None, name: str, options: ImportOptions) -> Read:
    """Return what a file says of a benchmark; with ``options.people`` the model of a record is a person."""
    if not file.exists():
        raise StudyError(f"{file}: there is no such file; check the path")
    logged = None if options.of_table else reading.samples_of(file, options.trust)
    rules = _rules(study, name, options)
    if logged is None:
        return placed(file, rules, *columns.samples(file, rules, options), options, study)
    samples = [*logged]
    if not isinstance(rules, QuestionRows):
        answers.of_log(file, rules, samples, options)
    return placed(file, rules, samples, (), options, study)


def _rules(study: Study | None, name: str, options: ImportOptions) -> RowRules:
    """Return what rows mean to a benchmark. They are held to its items, so these are built first where they are stale."""
    if study is None or name not in study.enabled:  # the first questions of one's own
        return QuestionRows(SimpleNamespace(name=name, items=(), settings=None))
    into = bound(study, name)
    if into.importer is None:
        instead = "`metacog fit FILE` fits a table of trials"
        raise StudyError(f"import: answers to {name} cannot be imported; {instead}")
    brought = into.importer is QuestionRows and not options.people  # the file may bring its questions
    try:
        if not brought:  # else the file may be refused, and the home is to be as it was
            study.prepare()
        construction.build(into)
    except SourceError as error:
        if brought:  # it names no file, and nothing was imported yet
            return QuestionRows(SimpleNamespace(name=name, items=(), settings=into.settings))
        raise StudyError(str(error)) from None
    rules: RowRules = into.importer(into)
    return rules


def placed(
    path: Path, rules: RowRules, samples: Sequence[Sample], lines: Sequence[str], options: ImportOptions,
    study: Study | None = None,
) -> Read:  # fmt: skip
    """Return what samples say: each gets its item, its condition and its replies; ``lines`` say how they were read."""
    names, matched, items = models_of(path, study, samples, options), None, rules.by_id
    if isinstance(rules, QuestionRows):
        usual = rules.condition if options.people else _condition(rules, _usable(path, samples))
        condition = options.condition or usual
        matched = matching.match(path, rules.items, samples, options.trust, new=not options.people)
        for each in samples:
            each.condition, each.texts = condition, {rules.step: each.said.text}
        items, lines = matched.items, [*lines, *matched.decisions()]
    elif study is not None and options.model is not None and not options.people:
        study.model(options.model)  # a name that is spelled wrong is no new model
    records = records_of(path, rules, items, samples, names)
    return Read(rules, samples, names, [*lines], records, matched)


def _condition(rules: QuestionRows, usable: Sequence[Sample]) -> str:
    """Return the condition of a log's answers: that of the study where it asks one that fits, else what replies state."""
    settings = rules.benchmark.settings
    asked: Sequence[str] = () if settings is None else settings.conditions
    # Replies that were cut, refused or cannot be read do not count: how many they are is a result, not how it was asked.
    scored = [each for each in usable if each.unscored is None] or usable
    replied = [each for each in scored if each.said.status is Status.OK and each.said.text.strip()]
    replied = replied[:: -(-len(replied) // _TRIED) or 1]  # read in full later: some show how all were asked
    stated, words = sum(states_confidence(each.said.text) for each in replied), rules.condition
    if words in asked and (stated or all(each.question is None for each in usable)):
        return words
    if stated and 2 * stated >= len(replied):
        return words
    letters = sum(bool(each.said.logprobs) and len(each.said.text.strip()) <= 3 for each in replied)
    return QuestionRows.by_logprob if letters and 2 * letters >= len(replied) else QuestionRows.unstated


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


def models_of(
    path: Path, study: Study | None, samples: Sequence[Sample], options: ImportOptions
) -> dict[str, str]:
    """Return {model in the file: its name here}; refuse answers without a model. Runs begin where the options say."""
    stated = {each.model for each in samples if each.model}
    only = options.model or (next(iter(stated)) if len(stated) == 1 else "")
    later = (options.run or 1) - 1 + any(each.run == 0 for each in samples)
    for each in samples:
        each.run += later
        each.model = each.model or only  # a line that failed names no model: it is of that of the others
    answered = dict.fromkeys(each.model for each in samples if each.why is None)
    if "" in answered:
        raise StudyError(f"{path}: does not say which model answered; name it with --model; nothing was kept")
    if options.people:
        return {name: name for name in answered}
    if options.model is None:
        return extending.names_of(study, answered)
    if len(answered) > 1:
        several = f"{len(answered)} models, {', '.join(list(answered)[:_NAMED])}"
        raise StudyError(f"{path}: holds {several}; leave --model out")
    if options.model != new_file.slug(options.model):
        raise StudyError(f'--model "{options.model}": use lower-case letters, digits, dots, hyphens')
    return dict.fromkeys(answered, options.model)


def records_of(
    path: Path, rules: RowRules, items: Mapping[str, Any], samples: Sequence[Sample], names: Mapping[str, str]
) -> list[Record]:
    """Return the records of the samples that can be kept; of two answers to one item in one run the first counts."""
    first: dict[tuple[Any, ...], Sample] = {}
    for each in _usable(path, samples):
        one = first.setdefault((names[each.model], each.run, each.item, each.condition), each)
        if one is not each:
            modes = {answers.mode_of(both, items[each.item]) for both in (one, each)}
            each.same = each.texts == one.texts and len(modes) == 1
            which = "both are the same" if each.same else "the first one counts"
            each.why = f"is given twice in one run, first in {_rejected(one).place}; {which}"
    now, settings, found = datetime.now(UTC), dict[int, str](), list[Record]()
    for (model, *_), each in first.items():
        if id(each.settings) not in settings:  # samples share them: they are written once
            settings[id(each.settings)] = canonical_json(dict(each.settings))
        item, said, mode = items[each.item], each.said, answers.mode_of(each, items[each.item])
        if mode == answers.NO_VERDICT:
            each.unscored = "has no short right answer, and the log no verdict"
        about = {
            **import_rules.UNKNOWN, **{part: getattr(said.usage, part) for part in _USAGE},
            "benchmark": rules.benchmark.name, "model": model, "run": each.run, "item_id": each.item,
            "item_hash": item.item_hash, "condition": each.condition, "mode": mode, "model_id": each.model,
            "model_reported": said.model_reported, "status": said.status.value, "finish_reason": said.finish_reason,
            "request_json": settings[id(each.settings)], "logprobs_json": encode_logprobs(said.logprobs),
            "cost_usd": said.cost_usd, "latency_s": said.latency_s, "started_at": said.started_at or now,
            "reasoning_text": said.reasoning_text,
        }  # fmt: skip
        for step, text in each.texts.items():
            own = [step] if len(rules.all_steps) > 1 else []
            # what makes it the same answer when it is imported again
            identity = [rules.benchmark.name, model, each.run, each.item, each.condition, *own, text, mode]
            digest = sha256_hex(canonical_json(identity))
            found.append(Record(**{**about, "answer_id": digest, "step": step, "text": text}))
    return found


def by_partition(records: Iterable[Record]) -> dict[tuple[str, int], list[Record]]:
    """Return records by model and run."""
    found: dict[tuple[str, int], list[Record]] = {}
    for each in records:
        found.setdefault((each.model, each.run), []).append(each)
    return found


def _fresh(
    path: Path, study: Study | None, benchmark: str, records: Iterable[Record], trust: Sequence[str]
) -> dict[tuple[str, int], list[Record]]:
    """Return the records that are not kept yet; the same file can be imported again.

    StudyError for answers of a model that is asked, and, unless ``run`` is trusted, for other answers to calls of a run.
    """
    asked = study is not None and benchmark in study.enabled
    known = {each.name: each for each in study.models} if study is not None and asked else {}
    found = dict[tuple[str, int], list[Record]]()
    for (model, run), own in by_partition(records).items():
        there = dict[tuple[str, ...], Record]()
        if study is not None and model in known:
            if known[model].provider != "replay":
                raise StudyError(
                    f'{path}: model "{model}" of the study is asked, not replayed: imported answers are never mixed with '
                    'answers asked here; name one with provider = "replay"'
                )
            kept = kept_records(Partition(study, benchmark, known[model], run).folder)
            there = {(each.item_id, each.condition, each.step): each for each in kept}
        calls = [(each, there.get((each.item_id, each.condition, each.step))) for each in own]
        other = [each.item_id for each, one in calls if one is not None and one.text != each.text]
        if other and "run" not in trust:
            raise StudyError(
                f"{path}: run {run} of {model} has other answers to {len(other)} of these questions, such as {other[0]}; "
                "nothing was kept; import it as another run with --run, as another model with --model, or in their place "
                "with --trust run"
            )
        found[model, run] = [each for each, one in calls if one is None or one.answer_id != each.answer_id]
    return found


# --- the summary ------------------------------------------------------------------------------------------------------
def _head(rules: RowRules, kept: Sequence[Sample], records: Sequence[Record]) -> Iterator[str]:
    names = dict.fromkeys((each.model, each.model_id) for each in records)
    models = [name if name == model else f"{name} ({model})" for name, model in [*names][:_NAMED]]
    several = f", {len(names)} models in all" if len(names) > _NAMED else ""
    runs, conditions = [each.run for each in kept], {each.condition: None for each in kept}
    about = f"runs {min(runs)} to {max(runs)}, as answers to {rules.benchmark.name} {', '.join(conditions)}"
    yield f"{len(kept)} answers of {', '.join(models)}{several}, {about}"
    if {*conditions} == {QuestionRows.unstated}:
        yield (
            "no confidence was found, so accuracy alone is measured: ask for one in the prompt (a last line "
            "'Confidence: <0 to 100>'), or log the probabilities of single letters, and import the new log"
        )


def _reasons(rejected: Iterable[import_rules.Rejected]) -> Iterator[str]:
    for (what, why), n in Counter((what, why) for _, what, why in rejected).most_common(_REASONS):
        yield f"{n} {'sample' if n == 1 else 'samples'} {what}: {one_line(why, 120)}"


def _verdicts(rules: RowRules, kept: Sequence[Sample]) -> Iterator[str]:
    """Compare the verdicts of a file with ours, and accuracy over the places in which the right option was shown."""
    items = rules.by_id
    every = [(each, items[each.item]) for each in kept if each.unscored is None]
    every = [(each, item) for each, item in every if getattr(item, "kind", "") != "graded"]
    if not any(each.right is not None or each.order for each, _ in every):
        every = every[:: -(-len(every) // _TRIED) or 1]  # there is nothing to compare: the board reads all
    read = [(each, item, answers.read_reply(rules.benchmark, item, each)) for each, item in every]
    right = [(each, item, mine) for each, item, made in read if (mine := rules.right(made)) is not None]
    unread = sum(made.status in rules.benchmark.unreadable for *_, made in read)
    own = f"accuracy {_mean(mine for *_, mine in right)}" if right else "none is right or wrong"
    yield f"of {len(read)} answers that were read {unread} cannot be read; {own}"
    if judged := [(each, mine) for each, _, mine in right if each.right is not None]:
        theirs, ours = _mean(bool(each.right) for each, _ in judged), _mean(mine for _, mine in judged)
        line = f"accuracy by the file's own verdicts {theirs}, by key {ours}"
        if other := [each.name for each, mine in judged if mine != bool(each.right)]:
            first = f"{len(other)} of {len(judged)} samples: {', '.join(other[:_NAMED])}"
            line += f": log and study differ on right or wrong in {first}; the study counts"
        yield line
    if any(each.order for each, *_ in right):  # a position bias shows as a difference
        places: dict[str, list[int]] = {}
        for each, item, mine in right:
            if item.options:
                places.setdefault(LETTERS[(each.order or LETTERS).index(item.answer)], []).append(mine)
        parts = (f"{at} {_mean(own)}" for at, own in sorted(places.items()))
        yield f"accuracy by the place of the right option (position bias): {', '.join(parts)}"


def _mean(values: Iterable[int]) -> str:
    found = [*values]
    return f"{sum(found) / len(found):.3f} of {len(found)}"
