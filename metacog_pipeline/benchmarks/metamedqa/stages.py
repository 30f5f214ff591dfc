"""The stages of MetaMedQA for one study: what each asset does, without Dagster.

Every function takes the study (or one partition of it), reads the stage before from the study's home, writes its own
files whole or not at all, and returns what there is to show.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmarks.metamedqa import scoring, sources
from metacog_pipeline.benchmarks.metamedqa.comparisons import compare
from metacog_pipeline.benchmarks.metamedqa.construction import pipeline
from metacog_pipeline.benchmarks.metamedqa.construction.build import limit_items
from metacog_pipeline.benchmarks.metamedqa.construction.files import items_path, read_items
from metacog_pipeline.benchmarks.metamedqa.items import Item
from metacog_pipeline.benchmarks.metamedqa.observe import observe as parse_answers
from metacog_pipeline.benchmarks.metamedqa.prompts import Wording, load_wording
from metacog_pipeline.benchmarks.metamedqa.protocol import MODES, ask_item
from metacog_pipeline.benchmarks.metamedqa.simulate import Responder
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, replacing, sha256_hex, shipped, write_text
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.asking import source_of
from metacog_pipeline.querying.partition import Outcome, Progress
from metacog_pipeline.querying.planning import identities
from metacog_pipeline.querying.session import Partition, asked_as, query_partition, record_failure
from metacog_pipeline.querying.types import Ask, Task
from metacog_pipeline.study import MetaMedQASection, Study
from metacog_pipeline.transcripts.store import read_partition

BENCHMARK = "metamedqa"
CONSTRUCTION_VERSION = "1"
PARSING_VERSION = "1"
SCORING_VERSION = "1"
STAGES = ("metamedqa_transcripts", "metamedqa_observations", "metamedqa_estimates")
OBSERVATION_PREVIEW = ("item_id", "condition", "kind", "target", "answer", "confidence", "correct", "status")
ESTIMATE_PREVIEW = ("condition", "measure", "estimate", "low", "high", "n", "status")
MARK = "metacog_made_from"  # Parquet metadata: digest of everything a file was computed from


@dataclass(frozen=True, slots=True)
class Shown:
    """A stage's result as people see it: figures and a frame to preview."""

    facts: dict[str, Any]
    frame: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Built(Shown):
    """The finished data set. ``known`` violations belong to the published data, ``unexpected`` ones do not."""

    counts: dict[str, Any] = field(default_factory=dict)
    counts_add_up: bool = True
    known: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Observed(Shown):
    """Parsed answers of one partition."""

    rows: int = 0
    expected_rows: int = 0
    unparsable_share: float = 0.0


def settings(study: Study) -> MetaMedQASection:
    """Return the study's ``[benchmarks.metamedqa]``."""
    return study.benchmarks.metamedqa


def folder(study: Study) -> Path | None:
    """Return the folder of a custom data set."""
    given = settings(study).folder
    return None if given is None else _beside(study, given)


def wording(study: Study) -> Wording:
    """Return the words of the prompts; raises StudyError for an unreadable file or an unknown condition."""
    chosen = settings(study).wording
    return load_wording(None if chosen is None else _beside(study, chosen))


def conditions(study: Study) -> tuple[str, ...]:
    """Return the canonical names of the study's conditions; raises StudyError for one without words."""
    words = wording(study)
    return tuple(dict.fromkeys(words.condition(name) for name in settings(study).conditions))


# --- construction -----------------------------------------------------------------------------------------------------


def parent_source(study: Study) -> Shown:
    """Bring the parent questions home, verified."""
    facts = _fetch(study, "medqa")
    rows = pipeline.load_parent(study.home.path, settings(study).dataset, folder(study))
    return Shown({**facts, "rows": len(rows)}, _frame(rows))


def fictional_source(study: Study) -> Shown:
    """Bring the fictional questions home, verified."""
    facts = _fetch(study, "metamedqa", "glianorex")
    rows = pipeline.load_fictional(study.home.path, settings(study).dataset, folder(study))
    return Shown({**facts, "rows": len(rows)}, _frame(rows))


def edit_table(study: Study) -> Shown:
    """Read or derive the edits."""
    facts = _fetch(study, "metamedqa")
    home, dataset, own = study.home.path, settings(study).dataset, folder(study)
    table = pipeline.load_or_derive_edits(home, dataset, pipeline.load_parent(home, dataset, own), own)
    counts = {"rows": len(table.edits), "anomalies": len(table.notes), "reports": list(table.reports)}
    return Shown({**facts, **counts}, _frame(table.edits))


def build(study: Study) -> Built:
    """Build the items and write them with their manifest."""
    section = settings(study)
    home, own = study.home.path, folder(study)
    parents = pipeline.load_parent(home, section.dataset, own)
    pool = pipeline.load_fictional(home, section.dataset, own)
    table = pipeline.load_or_derive_edits(home, section.dataset, parents, own)
    done = pipeline.build_items(
        section.dataset, parents, pool, table, order=section.order, seed=study.study.seed
    )
    pipeline.write_build(home, done)
    write_text(_inputs_file(study), canonical_json({"made_from": _construction_inputs(study)}) + "\n")
    anomalous = {note.item_id for note in table.notes}
    known = [v for v in done.violations if v.item_id in anomalous or v.advisory]
    counts = {key: value for key, value in done.manifest.items() if "count" in key or key == "rows"}
    return Built(
        facts={"rows": len(done.items), "dataset": section.dataset},
        frame=read_frame(items_path(home)).select("item_id", "kind", "target", "question"),
        counts=counts,
        counts_add_up=not any(v.rule == "O4" for v in done.violations),
        known=tuple(v.render() for v in known),
        unexpected=tuple(v.render() for v in done.violations if v not in known),
    )


def fetch_sources(study: Study) -> None:
    """Bring every source of the data set home; those already there are left alone."""
    _fetch(study, "medqa", "metamedqa", "glianorex")


def construct(study: Study) -> Built:
    """Bring the sources home and build the items in one go, for callers without Dagster."""
    fetch_sources(study)
    return build(study)


def items_current(study: Study) -> bool:
    """Whether the items on disk were built from what the study names now."""
    noted = _inputs_file(study)
    if not (items_path(study.home.path).exists() and noted.exists()):
        return False
    return noted.read_text("utf-8").strip() == canonical_json({"made_from": _construction_inputs(study)})


def selected_items(study: Study) -> list[Item]:
    """Return the items the study asks: all, or ``limit`` of them drawn by the study's seed (a larger limit adds)."""
    path = items_path(study.home.path)
    if not path.exists():
        raise SourceError(
            f"{path}: the questions are not built yet; run `metacog run` or build them in the UI"
        )
    return list(_selected(path, path.stat().st_mtime_ns, settings(study).limit, study.study.seed))


@functools.lru_cache(maxsize=4)
def _selected(path: Path, changed: int, limit: int | None, seed: int) -> tuple[Item, ...]:
    return tuple(limit_items(read_items(path), limit, seed))


def expected_rows(study: Study) -> int:
    """Return items × conditions of one partition; 0 before the questions are built."""
    if not items_path(study.home.path).exists():
        return 0
    return len(selected_items(study)) * len(conditions(study))


# --- asking -----------------------------------------------------------------------------------------------------------


def modes(spec: ModelSpec) -> tuple[str, ...]:
    """Return the answer modes to try, best first."""
    if spec.answer_mode != "auto":
        return (spec.answer_mode,)
    if spec.provider == "simulated":
        return ("text",)
    return tuple(mode for mode in MODES if mode != "logit_bias" or spec.token_ids)


def tasks(study: Study, spec: ModelSpec) -> list[Task]:
    """Return one task per item and condition."""
    words = wording(study)

    def task(item: Item, item_hash: str, condition: str) -> Task:
        async def run(ask: Ask, mode: str) -> None:
            await ask_item(item, condition, mode, ask, words, spec)

        return Task(item.item_id, item_hash, condition, run)

    hashed = [(item, item.item_hash) for item in selected_items(study)]
    return [task(item, digest, condition) for condition in conditions(study) for item, digest in hashed]


def query(
    partition: Partition, todo: Sequence[Task], on_progress: Callable[[Progress], None] | None = None
) -> Outcome:
    """Ask what the partition lacks. Raises StoreError, BudgetError or ProviderError when that cannot start."""
    respond = None
    if partition.spec.provider == "simulated":
        respond = Responder(selected_items(partition.study), partition.spec.observer)
    return query_partition(
        partition,
        todo,
        modes(partition.spec),
        fingerprint=fingerprint(partition),
        respond=respond,
        on_progress=on_progress,
    )


def write_failure(partition: Partition, message: str) -> None:
    """Note in the partition's manifest why it could not be asked, so that the boards can name it."""
    record_failure(partition, message, expected_rows(partition.study))


def fingerprint(partition: Partition) -> str:
    """Return a digest of everything a partition's answers depend on."""
    study = partition.study
    words = wording(study)
    texts = {name: words.system_message(name) for name in conditions(study)}
    asked: dict[str, object] = {
        "items": [[item.item_id, item.item_hash] for item in selected_items(study)],
        "words": [words.instructions, words.confidence_request, texts],
        "model": asked_as(partition.spec),
        "seed": partition.seed,
    }
    if partition.spec.provider == "replay":
        asked["imported"] = sorted(
            (p.name, p.stat().st_size) for p in partition.folder.glob("journal-*.jsonl")
        )
    return sha256_hex(canonical_json(asked))


def stale(partition: Partition) -> tuple[str, ...]:
    """Return which of the partition's assets must run; empty when all are up to date."""
    if partition.manifest().get("fingerprint") != fingerprint(partition):
        return STAGES
    if _mark(observations_path(partition)) != _observed_from(partition):
        return STAGES[1:]
    if _mark(estimates_path(partition)) != _estimated_from(partition):
        return STAGES[2:]
    return ()


# --- scoring ----------------------------------------------------------------------------------------------------------


def observations_path(partition: Partition) -> Path:
    """Return where the partition's observations are kept."""
    return _run_file(partition.study.home.observations / BENCHMARK, partition)


def estimates_path(partition: Partition) -> Path:
    """Return where the estimates of this one run are kept."""
    return _run_file(partition.study.home.estimates / BENCHMARK / "runs", partition)


def observe(partition: Partition) -> Observed:
    """Parse the partition's answers into one row per item and condition."""
    study = partition.study
    items = selected_items(study)
    names = conditions(study)
    frame = parse_answers(
        items,
        _asked_now(partition),
        conditions=names,
        model=partition.spec.name,
        run=partition.run,
        source=_source(partition),
    )
    _write(frame, observations_path(partition), _observed_from(partition))
    by_status = dict(frame["status"].value_counts().iter_rows())
    unparsable = sum(by_status.get(name, 0) for name in ("answer_unparsed", "confidence_unparsed"))
    return Observed(
        facts={"rows": frame.height, **by_status},
        frame=frame,
        rows=frame.height,
        expected_rows=len(items) * len(names),
        unparsable_share=unparsable / max(frame.height, 1),
    )


def _asked_now(partition: Partition) -> pl.DataFrame:
    """Return the partition's transcripts without answers to questions that are worded otherwise now.

    A complete partition has marked those itself. In one that stopped early, items not reached yet still hold their
    old answers, which must not be mixed with the new ones.
    """
    frame = pl.DataFrame(pl.from_arrow(read_partition(partition.folder)))
    profile = partition.known_profile()
    if partition.manifest().get("state") == "complete" or profile is None or profile.mode == "import":
        return frame
    now = identities(partition, profile, tasks(partition.study, partition.spec))
    return frame.filter(pl.col("answer_id").is_in(now))


def _source(partition: Partition) -> str:
    return str(partition.manifest().get("source") or source_of(partition.spec))


def estimate(partition: Partition) -> pl.DataFrame:
    """Score one run: every measure with its interval, or the reason there is none."""
    frame = scoring.score(
        read_frame(observations_path(partition)),
        seed=partition.study.study.seed,
        allow_incomplete=settings(partition.study).allow_incomplete,
    )
    _write(frame, estimates_path(partition), _estimated_from(partition))
    return frame


def calibration(partition: Partition) -> pl.DataFrame:
    """Return accuracy by confidence level of one run, for the plot."""
    return scoring.by_confidence(read_frame(observations_path(partition)))


def transcript_preview(partition: Partition) -> pl.DataFrame:
    """Return a few answers to look at."""
    columns = ["item_id", "condition", "step", "status", "text", "latency_s"]
    return pl.DataFrame(pl.from_arrow(read_partition(partition.folder, columns).slice(0, 20)))


def summarise(study: Study) -> dict[str, int]:
    """Pool each listed model over its runs and compare models; only models whose observations changed are redone."""
    pooled, frames = 0, []
    models = study.home.estimates / BENCHMARK / "models"
    for spec in study.models:
        paths = [observations_path(Partition(study, BENCHMARK, spec, run)) for run in study.runs]
        present = [path for path in paths if path.exists()]
        target = models / f"{spec.name}.parquet"
        if not present:
            target.unlink(missing_ok=True)
            continue
        made_from = sha256_hex(canonical_json([SCORING_VERSION, study.study.seed, *map(_mark, present)]))
        observations = pl.concat([read_frame(path) for path in present])
        frames.append(observations)
        if _mark(target) != made_from:
            frame = scoring.pool(
                observations, seed=study.study.seed, allow_incomplete=settings(study).allow_incomplete
            )
            _write(frame, target, made_from)
            pooled += 1
    for retired in set(models.glob("*.parquet")) - _listed_files(study):
        retired.unlink()
    rows = _write_comparisons(study, frames)
    return {"models": len(frames), "models pooled anew": pooled, "comparisons": rows}


def scored_from(study: Study) -> list[str | None]:
    """Return what the estimates of every run were computed from, to see whether a board is still current."""
    partitions = [Partition(study, BENCHMARK, spec, run) for spec in study.models for run in study.runs]
    return [SCORING_VERSION, *(_mark(estimates_path(partition)) for partition in partitions)]


def read_frame(path: Path) -> pl.DataFrame:
    """Read one of our own Parquet files; raises SourceError when it is damaged."""
    try:
        return pl.read_parquet(path, glob=False, hive_partitioning=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SourceError(
            f"{path}: cannot be read ({error}); delete it and run `metacog run` again, answers are kept elsewhere"
        ) from None


def _listed_files(study: Study) -> set[Path]:
    return {study.home.estimates / BENCHMARK / "models" / f"{spec.name}.parquet" for spec in study.models}


def _write_comparisons(study: Study, frames: Sequence[pl.DataFrame]) -> int:
    target = study.home.estimates / BENCHMARK / "comparisons" / "comparisons.parquet"
    if not frames:
        target.unlink(missing_ok=True)
        return 0
    table = compare(pl.concat(frames), seed=study.study.seed)
    _write(table, target, "")
    return table.height


def _write(frame: pl.DataFrame, path: Path, made_from: str) -> None:
    with replacing(path) as temporary:
        frame.write_parquet(temporary, metadata={MARK: made_from})


def _mark(path: Path) -> str | None:
    try:
        return pl.read_parquet_metadata(path).get(MARK)
    except (OSError, pl.exceptions.PolarsError):
        return None


def _observed_from(partition: Partition) -> str:
    manifest = partition.manifest()
    return sha256_hex(
        canonical_json([PARSING_VERSION, manifest.get("fingerprint"), manifest.get("finished_at")])
    )


def _estimated_from(partition: Partition) -> str:
    section = settings(partition.study)
    inputs = [
        SCORING_VERSION,
        partition.study.study.seed,
        section.allow_incomplete,
        _observed_from(partition),
    ]
    return sha256_hex(canonical_json(inputs))


def _fetch(study: Study, *names: str) -> dict[str, object]:
    """Fetch what the data set needs; shipped and custom sets need nothing."""
    if settings(study).dataset not in ("published", "corrected"):
        return {"origin": settings(study).dataset}
    fetched = sources.fetch(study.home.path, names)
    return {"origin": "; ".join(source.origin for source in fetched)}


def _construction_inputs(study: Study) -> str:
    section = settings(study)
    files: Mapping[str, str] = {}
    if section.dataset in ("sample", "custom"):
        own = folder(study) or shipped("data", "metamedqa", "sample")
        files = {p.name: sha256_hex(p.read_bytes()) for p in sorted(own.glob("*.jsonl*")) if p.is_file()}
    inputs = [CONSTRUCTION_VERSION, section.dataset, section.order, study.study.seed, files]
    return sha256_hex(canonical_json(inputs))


def _run_file(folder: Path, partition: Partition) -> Path:
    return folder / f"model={partition.spec.name}" / f"run={partition.run}.parquet"


def _inputs_file(study: Study) -> Path:
    return items_path(study.home.path).with_name("metamedqa.inputs.json")


def _beside(study: Study, path: Path) -> Path:
    return (study.path.parent / path.expanduser()).resolve()


def _frame(rows: Sequence[Any]) -> pl.DataFrame:
    """Return the first rows as text, for people."""
    shown = [{key: str(value) for key, value in asdict(row).items()} for row in rows[:20]]
    return pl.DataFrame(shown)
