"""Tasks: which items under which conditions a model is asked, and the digest of what its answers depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Unpack

from metacog_pipeline.asking import second_ask
from metacog_pipeline.asking.session import Partition, request_digest
from metacog_pipeline.asking.types import Answer, Ask, CallOptions, Task
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Item, Stage
from metacog_pipeline.benchmark.item_files import items_digest, items_path
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Message
from metacog_pipeline.transcripts.folder import kept_folders
from metacog_pipeline.transcripts.journal import segment_sizes

Asked = Sequence[tuple[str, Sequence[Item]]]


@dataclass(slots=True)
class ItemChat:
    """The `contract.Chat` of one item: the asker, its answer mode and its model."""

    ask: Ask
    mode: str
    spec: ModelSpec
    asked: dict[str, second_ask.Asked] = field(default_factory=dict)

    async def __call__(
        self, step: str, messages: Sequence[Message], **options: Unpack[CallOptions]
    ) -> Answer:
        """Ask one call."""
        answer = await self.ask(step, messages, **options)
        self.asked[step] = second_ask.Asked(tuple(messages), options, answer)
        return answer


def models(benchmark: Bound) -> list[ModelSpec]:
    """Return the models of the study this benchmark scores."""

    def replayed(spec: ModelSpec) -> bool:
        # Imported answers belong to the benchmarks they were imported into; before that, to every one that
        # takes imports.
        kept = {each.benchmark for each in kept_folders(study.home, model=spec.name) if segment_sizes(each)}
        return benchmark.importer is not None and (not kept or benchmark.name in kept)

    study = benchmark.study
    return [spec for spec in study.models if spec.provider != "replay" or replayed(spec)]


def partitions(benchmark: Bound) -> list[Partition]:
    """Return every model × run the study asks for, in the order of the study file."""
    study = benchmark.study
    return [Partition(study, benchmark.name, spec, run) for spec in models(benchmark) for run in study.runs]


def asked(benchmark: Bound, spec: ModelSpec | None = None) -> Asked:
    """Return (condition, its items) in order; with ``spec`` those that this model has to answer."""
    every, found = benchmark.items, []
    for condition in benchmark.conditions():
        found.append((condition.name, condition.items(every)))
    # Of imported answers the benchmark may ask less.
    return benchmark.replayed(spec, found) if spec is not None and spec.provider == "replay" else found


def expected(benchmark: Bound, spec: ModelSpec | None = None) -> int:
    """Return the responses of one partition (of ``spec``) over all conditions; 0 before the items are built."""
    if not items_path(benchmark.study.home, benchmark.name).exists():
        return 0
    return sum(len(items) for _, items in asked(benchmark, spec))


def tasks(benchmark: Bound, spec: ModelSpec) -> list[Task]:
    """Return what is asked of a model: one task per condition and item asked under it."""

    def task(item: Item, condition: str) -> Task:
        async def run(ask: Ask, mode: str) -> None:
            chat = ItemChat(ask, mode, spec)
            await benchmark.ask(item, condition, chat)
            for step, messages, options in second_ask.wanted(benchmark, item, condition, mode, chat.asked):
                await chat(step, messages, **options)

        return Task(item.item_id, item.item_hash, condition, run)

    return [task(item, condition) for condition, items in asked(benchmark, spec) for item in items]


def fingerprint(benchmark: Bound, partition: Partition) -> str:
    """Return a digest of everything a partition's answers depend on."""
    spec = partition.spec
    depends = {
        "version": benchmark.versions[Stage.ASKING],
        "items": items_digest(benchmark.study.home, benchmark.name, benchmark.Item),
        "conditions": [
            [name, len(items), benchmark.prompt_digest(name)] for name, items in asked(benchmark, spec)
        ],
        "settings": benchmark.settings.affecting(Stage.ASKING),
        "model": request_digest(spec),
        "seed": partition.seed,
    }
    if spec.provider == "replay":
        depends["imported"] = sorted(map(list, segment_sizes(partition.folder).items()))
    return sha256_hex(canonical_json(depends))
