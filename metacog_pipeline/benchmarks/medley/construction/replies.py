"""From the transcripts of designers, analysts and judges to what the construction works on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from metacog_pipeline.benchmarks.medley.construction import designs, pool, verdicts
from metacog_pipeline.benchmarks.medley.construction.assembly import Opinions
from metacog_pipeline.benchmarks.medley.construction.designs import Seed, draft_of
from metacog_pipeline.benchmarks.medley.construction.drafts import Draft
from metacog_pipeline.benchmarks.medley.construction.generate import opinions_of
from metacog_pipeline.benchmarks.medley.construction.verdicts import read_verdict, verdict_id
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS
from metacog_pipeline.llm.types import Status

Transcripts = Mapping[str, pl.DataFrame]
"""{model: its transcripts, columns of the transcript schema}, in the order of the pool."""


def texts_of(
    transcripts: pl.DataFrame, hashes: Mapping[str, str], steps: Sequence[str]
) -> dict[str, list[str]]:
    """Return {item: texts} of a model, steps in order, of two answers to one step the later first.

    Failed calls, superseded answers and answers to another text than that of ``hashes`` (item → hash) are left out.
    """
    frame = transcripts
    if "superseded" in frame.columns:
        frame = frame.filter(~pl.col("superseded"))
    frame = frame.filter(pl.col("status") != Status.FAILED.value, pl.col("step").is_in(list(steps)))
    frame = frame.sort("started_at", descending=True, maintain_order=True)
    found: dict[str, list[str]] = {}
    for step in steps:
        rows = frame.filter(pl.col("step") == step).select("item_id", "item_hash", "text")
        for item, digest, text in rows.iter_rows():
            if hashes.get(item) == digest:
                found.setdefault(item, []).append(text)
    return found


def drafts_from(seeds: Sequence[Seed], transcripts: Transcripts) -> tuple[list[Draft], list[str]]:
    """Return the drafts made from what designers wrote, and the ids of seeds for which nobody wrote a usable one."""
    hashes = {seed.seed_id: seed.item_hash for seed in seeds}
    written = [texts_of(frame, hashes, [designs.DESIGN]) for frame in transcripts.values()]
    drafts, without = [], []
    for seed in seeds:
        draft = draft_of(seed, [text for each in written for text in each.get(seed.seed_id, [])])
        if draft is None:
            without.append(seed.seed_id)
        else:
            drafts.append(draft)
    return drafts, without


def opinions_from(
    drafts: Sequence[Draft], transcripts: Transcripts, families: Mapping[str, str]
) -> list[Opinions]:
    """Return what the pool said of each draft; an analyst without any answer to it is not among its raters."""
    hashes = {draft.draft_id: draft.item_hash for draft in drafts}
    said = {model: texts_of(frame, hashes, pool.steps("text")) for model, frame in transcripts.items()}
    return [
        opinions_of(draft, {model: texts.get(draft.draft_id, []) for model, texts in said.items()}, families)
        for draft in drafts
    ]


def verdicts_from(
    hashes: Mapping[str, str], drafts: Sequence[Draft], transcripts: Transcripts
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return {draft: {claim: verdicts}}, judges in the order given; replies without a verdict are left out.

    ``hashes`` are those of the verification's tasks, by item: a verdict on an earlier consensus does not count.
    """
    given = [texts_of(frame, hashes, [verdicts.VERIFY]) for frame in transcripts.values()]
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for draft in drafts:
        for claim in CLAIM_IDS:
            texts = [each.get(verdict_id(draft.draft_id, claim), []) for each in given]
            read = [next(filter(None, map(read_verdict, of_one)), None) for of_one in texts]
            found.setdefault(draft.draft_id, {})[claim] = tuple(
                verdict for verdict in read if verdict is not None
            )
    return found
