"""What a benchmark asks of a model: its tasks, and the digest of everything they depend on."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, Unpack, cast

import polars as pl

from metacog_pipeline.asking.session import Partition, request_digest
from metacog_pipeline.asking.types import Answer, Ask, CallOptions, Task
from metacog_pipeline.benchmark.contract import Benchmark, Choice, Condition, Item, Stage
from metacog_pipeline.benchmark.item_files import items_digest, items_path
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex, write_text
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Message
from metacog_pipeline.transcripts.folder import kept_folders
from metacog_pipeline.transcripts.parquet import segment_sizes
from metacog_pipeline.transcripts.segments import segments

Bound = Benchmark[Any, Any, Any]
T = TypeVar("T")
Asked = Sequence[tuple[str, Sequence[Item]]]
#: What was found of each benchmark, by its identity, inside of `one_look`; None outside of it.
_FOUND: ContextVar[dict[tuple[str, int], tuple[Bound, Any]] | None] = ContextVar("_FOUND", default=None)


@dataclass(frozen=True, slots=True)
class ItemChat:
    """The `contract.Chat` of one item: how it is asked, and who answers."""

    ask: Ask
    mode: str
    spec: ModelSpec

    async def __call__(
        self, step: str, messages: Sequence[Message], **options: Unpack[CallOptions]
    ) -> Answer:
        """Ask one call."""
        return await self.ask(step, messages, **options)


def models(benchmark: Bound) -> list[ModelSpec]:
    """Return the models of the study this benchmark scores.

    One whose answers are imported belongs to the benchmarks that they were imported into; before the first import, to
    every one that takes imports.
    """
    listed = benchmark.context.study.models
    return [spec for spec in listed if spec.provider != "replay" or _replayed(benchmark, spec)]


def _replayed(benchmark: Bound, spec: ModelSpec) -> bool:
    if benchmark.importer is None:
        return False
    kept = [each for each in kept_folders(benchmark.context.study.home, model=spec.name) if segments(each)]
    here, anywhere = any(each.benchmark == benchmark.name for each in kept), bool(kept)
    return here or not anywhere


def partitions(benchmark: Bound) -> list[Partition]:
    """Return every model × run the study asks for, in the order of the study file."""
    study = benchmark.context.study
    return [Partition(study, benchmark.name, spec, run) for spec in models(benchmark) for run in study.runs]


@contextlib.contextmanager
def one_look() -> Iterator[None]:
    """Find what a benchmark asks of all its models once in the block: a look at many partitions that changes nothing.

    Within another such block they go on with what it found.
    """
    found = _FOUND.get()
    token = _FOUND.set({} if found is None else found)
    try:
        yield
    finally:
        _FOUND.reset(token)


def _once(benchmark: Bound, what: Callable[[Bound], T]) -> T:
    """Return ``what`` of a benchmark, found once inside of `one_look`."""
    found = _FOUND.get()
    if found is None:
        return what(benchmark)
    key = (what.__name__, id(benchmark))
    if key not in found:
        found[key] = (benchmark, what(benchmark))  # while it is kept, no other one has its identity
    return cast(T, found[key][1])


def asked(benchmark: Bound, spec: ModelSpec | None = None) -> Asked:
    """Return (condition, its items) in order; a condition whose items are not chosen yet is left out.

    With ``spec`` those that this model has to answer: of one whose answers are imported, the benchmark may ask less.
    """
    found = _once(benchmark, _asked_of_all)
    if spec is not None and spec.provider == "replay":
        return benchmark.replayed(spec, found)
    return found


def _asked_of_all(benchmark: Bound) -> Asked:
    every = benchmark.items
    found: list[tuple[str, Sequence[Item]]] = []
    for condition in benchmark.conditions():
        items = _items_under(benchmark, condition, every)
        if condition.after is not None:
            chosen = chosen_items(benchmark, condition)
            if chosen is None:
                continue
            items = [item for item in items if item.item_id in chosen]
        found.append((condition.name, items))
    return found


def _items_under(benchmark: Bound, condition: Condition, every: Sequence[Item]) -> Sequence[Item]:
    """Return the items of ``every`` that a condition asks, picked once: a study asks for them for each of its models."""
    picked: dict[str, tuple[Sequence[Item], Sequence[Item]]] = vars(benchmark).setdefault("_picked", {})
    known = picked.get(condition.name)
    if known is None or known[0] is not every:  # the items were built anew
        known = picked[condition.name] = (every, condition.items(every))
    return known[1]


def expected(benchmark: Bound, spec: ModelSpec | None = None) -> int:
    """Return the responses of one partition (of ``spec``) over all conditions; 0 before the items are built."""
    if not _once(benchmark, _built):
        return 0
    return sum(len(items) for _, items in asked(benchmark, spec))


def _built(benchmark: Bound) -> bool:
    return items_path(benchmark.context.home, benchmark.name).exists()


def tasks(benchmark: Bound, spec: ModelSpec) -> list[Task]:
    """Return what is asked of a model: one task per condition and item asked under it."""

    def task(item: Item, condition: str) -> Task:
        async def run(ask: Ask, mode: str) -> None:
            await benchmark.ask(item, condition, ItemChat(ask, mode, spec))

        return Task(item.item_id, hashes[item.item_id], condition, run)

    arms = asked(benchmark, spec)
    hashes = {item.item_id: item.item_hash for _, items in arms for item in items}
    return [task(item, condition) for condition, items in arms for item in items]


def fingerprint(benchmark: Bound, partition: Partition) -> str:
    """Return a digest of everything a partition's answers depend on."""
    depends = {
        **_once(benchmark, _asked_alike),
        "model": request_digest(partition.spec),
        "seed": partition.seed,
    }
    if partition.spec.provider == "replay":
        depends["conditions"] = _worded(benchmark, asked(benchmark, partition.spec))
        depends["imported"] = imported_files(partition)
    return sha256_hex(canonical_json(depends))


def _asked_alike(benchmark: Bound) -> dict[str, Any]:
    """Return what the answers of every model depend on; one whose answers are imported may be asked less."""
    return {
        "version": benchmark.versions[Stage.ASKING],
        "items": items_digest(benchmark.context.home, benchmark.name, benchmark.Item),
        "conditions": _worded(benchmark, asked(benchmark)),
        "settings": benchmark.settings.affecting(Stage.ASKING),
    }


def _worded(benchmark: Bound, conditions: Asked) -> list[list[Any]]:
    return [[name, len(items), benchmark.worded_by(name)] for name, items in conditions]


def imported_files(partition: Partition) -> list[list[object]]:
    """Return the journals of a replayed model: what they hold is all its answers depend on."""
    return sorted(map(list, segment_sizes(partition.folder).items()))


# --- conditions that are decided from earlier answers -----------------------------------------------------------------
def choice_path(benchmark: Bound, condition: str) -> Path:
    """Return where the items chosen for a later condition are kept."""
    return benchmark.context.home.choices / f"{benchmark.name}_{condition}.json"


def chosen_items(benchmark: Bound, condition: Condition) -> frozenset[str] | None:
    """Return the ids of the items chosen for ``condition``; None before the choice was made."""
    path = choice_path(benchmark, condition.name)
    try:
        return frozenset(json.loads(path.read_text(encoding="utf-8"))["items"])
    except FileNotFoundError:
        earlier = condition.after.earlier if condition.after is not None else None
        kept = earlier(benchmark) if earlier is not None else None
        return None if kept is None else frozenset(kept)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SourceError(
            f"{path}: cannot be read ({error}); restore it from a copy: deleting it would choose other items"
        ) from None


def choose(benchmark: Bound, condition: Condition, choice: Choice, scored: pl.DataFrame) -> frozenset[str]:
    """Choose the items of a later condition once and keep the choice; one that is kept stays as it is."""
    kept = chosen_items(benchmark, condition)
    if kept is not None:
        return kept
    chosen = sorted(choice.pick(benchmark, scored.filter(pl.col("condition") == choice.condition)))
    text = json.dumps({"version": choice.version, "after": choice.condition, "items": chosen}, indent=1)
    write_text(choice_path(benchmark, condition.name), text + "\n")
    return frozenset(chosen)
