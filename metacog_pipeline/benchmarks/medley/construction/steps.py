"""The steps that make new instances: what each reads, what it makes of it, and what must hold for that.

seeds → designs* → drafts → opinions* → disagreement → consensus → verification* → panels → gates → items

A step with a star works on what designers, analysts or verifiers replied. No step asks, reads or writes anything: frames
go in, a frame comes out. The sample, a study's own people and simulated ones take the same steps.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from functools import partial
from typing import TypeVar

import polars as pl

from metacog_pipeline.benchmark.contract import Checked, Made
from metacog_pipeline.benchmarks.medley.construction import tables
from metacog_pipeline.benchmarks.medley.construction.asked import (
    draft_of,
    read_analyst,
    read_design,
    read_verdict,
    verdict_id,
)
from metacog_pipeline.benchmarks.medley.construction.consensus import (
    MAJORITY_METHOD,
    jackknife_majority,
    label_median,
)
from metacog_pipeline.benchmarks.medley.construction.disagreement import disagreement as disagreement_of
from metacog_pipeline.benchmarks.medley.construction.drafts import Draft, Seed
from metacog_pipeline.benchmarks.medley.construction.filters import ambiguity
from metacog_pipeline.benchmarks.medley.construction.gates import Evidence, evaluate
from metacog_pipeline.benchmarks.medley.construction.pipeline import gates_made, invariants_checked
from metacog_pipeline.benchmarks.medley.construction.probes import draw_probes
from metacog_pipeline.benchmarks.medley.construction.ratings import label_counts, position_counts
from metacog_pipeline.benchmarks.medley.construction.selection import PANEL, PER_FAMILY, Pool, select
from metacog_pipeline.benchmarks.medley.construction.tables import Opinions
from metacog_pipeline.benchmarks.medley.construction.verification import VERDICTS, is_wrong, verified_claims
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DOMAINS, Analyst, Claim, Consensus, Instance
from metacog_pipeline.benchmarks.medley.labels import LABELS
from metacog_pipeline.errors import SourceError

LEAST_WORDS, MOST_WORDS = 200, 400
MOST_DISAGREEMENT = 0.42282  # nats: five labels equally often, rounded up
Frames = Callable[[str], pl.DataFrame]
"""What an earlier step made, by its name."""
Replies = Mapping[str, Mapping[str, Sequence[str]]]
"""{name: {item: its texts, in the order they were asked for}}, in the order of the study file."""
ReadT = TypeVar("ReadT")


def seeds(given: Sequence[Seed]) -> Made:
    """Write down what new cases are to be about."""
    frame = tables.seed_frame(given)
    counted = Counter(seed.domain for seed in given)
    per_domain = {domain: counted[domain] for domain in DOMAINS}
    known = sum(seed.known_answer is not None for seed in given)
    checks = {"every_domain_has_seeds": Checked(all(per_domain.values()), per_domain)}
    return Made(frame=frame, facts={**per_domain, "known_answer": known}, checks=checks)


def designs(frames: Frames, replies: Replies) -> Made:
    """Write down the cases that designers wrote from the seeds."""
    ids = frames("seeds")["seed_id"]
    rows = []
    for seed_id in ids:
        for designer, texts in replies.items():
            for text in texts.get(seed_id, ()):
                design = read_design(text)
                words = len(design.vignette.split()) if design else 0
                rows.append((seed_id, designer, design is not None, words, text))
    frame = tables.frame_of(rows, tables.DESIGNS)
    usable = frame.filter("usable")["seed_id"]
    checks = {"every_seed_has_a_design": _all(usable.n_unique(), len(ids))}
    return Made(frame=frame, facts={"usable": len(usable)}, checks=checks)


def drafts(frames: Frames) -> Made:
    """Return the longest case of each seed, its five claims with fixed texts, and how hard its designers find it."""
    texts: dict[str, list[str]] = {}
    for seed_id, text in frames("designs").select("seed_id", "text").iter_rows():
        texts.setdefault(seed_id, []).append(text)
    given = tables.seeds_of(frames("seeds"))
    made = [draft for seed in given if (draft := draft_of(seed, texts.get(seed.seed_id, []))) is not None]
    if not made:
        raise SourceError("drafts: no designer wrote a case that can be read; see the designs")
    frame = tables.draft_frame(made)
    fixed = sum(len(set(draft.claim_texts)) == len(CLAIM_IDS) for draft in made)
    length = int(frame["words"].is_between(LEAST_WORDS, MOST_WORDS).sum())
    checks = {
        "five_different_claims": _all(fixed, len(made)),
        "two_to_four_hundred_words": _all(length, len(made)),
        "every_seed_has_a_draft": _all(len(made), len(given)),
    }
    tiers = dict(sorted(frame["tier"].value_counts().iter_rows()))
    return Made(frame=frame, facts={"seeds without a case": len(given) - len(made), **tiers}, checks=checks)


def opinions(frames: Frames, replies: Replies, families: Mapping[str, str]) -> Made:
    """Write down what every analyst says of every case: of each the first reply that can be read.

    ``families`` are {analyst: family}; an analyst without one is a family of its own.
    """
    given = tables.drafts_of(frames("drafts"))
    rows = []
    for draft in given:
        for name, by_item in replies.items():
            texts = by_item.get(draft.draft_id, ())
            read = _first(partial(read_analyst, draft=draft), texts)
            items = [{}] * len(CLAIM_IDS) if read is None else read["claim_level_assessments"]
            rated = [item.get("confidence") for item in items]
            response = None if read is None else json.dumps(read)
            rows.append((draft.draft_id, name, families.get(name, name), len(texts), *rated, response))
    frame = tables.frame_of(rows, tables.OPINIONS)
    readable = frame.filter(pl.col("response").is_not_null())
    labels = readable.select(CLAIM_IDS)
    given_labels = labels.unpivot()["value"].drop_nulls()
    five = int(labels.select(pl.all_horizontal(pl.all().is_not_null()).sum()).item())
    checks = {
        "labels_in_vocabulary": _all(int(given_labels.is_in(list(LABELS)).sum()), len(given_labels)),
        "five_ratings_per_analyst": _all(five, readable.height),
        "replies_can_be_read": _all(readable.height, frame.height),
        "every_draft_was_judged": _all(readable["draft_id"].n_unique(), len(given)),
    }
    return Made(frame=frame, facts={"analysts": len(replies), "readable": readable.height}, checks=checks)


def disagreement(frames: Frames) -> Made:
    """Return how much the analysts disagree about each claim, and which cases are open enough to be kept."""
    rows = []
    for each in _opinions(frames):
        tally = position_counts(each.ranks)
        rated, jsd = tally.sum(axis=1), disagreement_of(label_counts(each.ranks))
        kept, why = ambiguity(jsd, CLAIM_IDS, known_answer=each.draft.known_answer is not None)
        shares = [float(most / n) if n else 0.0 for most, n in zip(tally.max(axis=1), rated, strict=True)]
        for claim, n, share, value in zip(CLAIM_IDS, rated.tolist(), shares, jsd.tolist(), strict=True):
            rows.append((each.draft.draft_id, claim, n, share, value, kept, why))
    frame = tables.frame_of(rows, tables.DISAGREEMENT)
    kept_ids, every = frame.filter("kept")["draft_id"].n_unique(), frame["draft_id"].n_unique()
    inside = frame.filter(pl.col("jsd").is_between(0, MOST_DISAGREEMENT)).height
    checks = {
        "within_its_range": _all(inside, frame.height),
        "five_claims_each": _all(frame.height, every * len(CLAIM_IDS)),
        "something_is_open": Checked(kept_ids > 0, {"kept": kept_ids, "of": every}),
    }
    return Made(frame=frame, facts={"kept": kept_ids, "left_out": every - kept_ids}, checks=checks)


def consensus(frames: Frames) -> Made:
    """Return what the analysts say together: the majority that stands whoever is left out, and the label median."""
    kept, rows = _kept(frames), []
    for each in kept:
        rows += tables.consensus_rows(each.draft, jackknife_majority(each.ranks, CLAIM_IDS))
        rated = [candidate.labels for candidate in each.candidates]
        rows += tables.consensus_rows(each.draft, label_median(rated, CLAIM_IDS))
    frame = tables.frame_of(rows, tables.CONSENSUS)
    majority = frame.filter(pl.col("rule") == MAJORITY_METHOD)
    inside = majority.filter(pl.col("confidence").is_between(0, 1)).height
    checks = {
        "one_on_every_claim": _all(majority.height, len(kept) * len(CLAIM_IDS)),
        "within_zero_and_one": _all(inside, majority.height),
    }
    stable = int(majority["stable"].fill_null(value=False).sum())
    return Made(frame=frame, facts={"claims": majority.height, "stable": stable}, checks=checks)


def verification(frames: Frames, replies: Replies) -> Made:
    """Write down what verifiers say of the consensus on each claim."""
    rows = [
        (draft.draft_id, claim, name, _first(read_verdict, texts.get(verdict_id(draft.draft_id, claim), ())))
        for draft, _ in to_verify(frames)
        for claim in CLAIM_IDS
        for name, texts in replies.items()
    ]
    frame = tables.frame_of(rows, tables.VERIFICATION)
    covered = int(frame["verdict"].is_in(list(VERDICTS)).sum())
    counted = dict(frame["verdict"].drop_nulls().value_counts().sort("verdict").iter_rows())
    checks = {"three_verdicts_on_every_claim": _all(covered, frame.height)}
    return Made(frame=frame, facts=counted, checks=checks)


def panels(frames: Frames, *, verified: bool = True) -> Made:
    """Return the eight analysts who are shown with each case, chosen for how they differ and, where ``verified``, for
    how their positions fit what verifiers say of the consensus.
    """
    given, said = _majority(frames), tables.verdicts_by_draft(frames("verification")) if verified else {}
    rows, full, capped, rated = [], 0, 0, 0
    for each in _kept(frames):
        name = each.draft.draft_id
        verdicts = verified_claims(given[name], said.get(name, {}))
        found = select(Pool(each.candidates, verdicts, CLAIM_IDS))
        chosen = set(found.selected_models)
        parts = (*astuple(found.scores), found.strong_wrong_included)
        nested = (found.selected_models, found.family_counts, found.position_summary)
        analysts, families, positions = map(json.dumps, nested)
        rows.append((name, analysts, *parts, families, positions))
        full += len(chosen) == min(PANEL, len(each.candidates))
        capped += max(found.family_counts.values(), default=0) <= PER_FAMILY
        rated += all(one.response is not None for one in each.candidates if one.model_id in chosen)
    checks = {
        "eight_analysts": _all(full, len(rows)),
        "at_most_two_per_family": _all(capped, len(rows)),
        "all_of_them_could_be_read": _all(rated, len(rows)),
    }
    return Made(frame=tables.frame_of(rows, tables.PANELS), facts={"panels": len(rows)}, checks=checks)


def gates(
    frames: Frames, *, dataset: str, seed: int, prompt_versions: Sequence[str], anonymised: bool
) -> Made:
    """Say whether the whole set may be released; ``seed`` draws the instances that carry a probe."""
    instances = assembled(frames, dataset)
    probes = draw_probes(instances, seed)
    known = Evidence(
        difficulty=dict(frames("drafts").select("draft_id", "tier").iter_rows()),
        traps=probes["trap"],
        minimal_probes=probes["minimal_instruction"],
        verdicts=tables.verdicts_by_draft(frames("verification")),
        families=dict(frames("opinions").select("analyst", "family").iter_rows()),
        prompt_versions=prompt_versions,
        anonymised=anonymised,
    )
    made = gates_made(evaluate(instances, known), instances=len(instances))
    return replace(made, checks={**invariants_checked(instances), **made.checks})


def assembled(frames: Frames, dataset: str) -> list[Instance]:
    """Return the whole set of instances, in the order of the drafts."""
    given, verdicts = _majority(frames), tables.verdicts_by_draft(frames("verification"))
    chosen = dict(frames("panels").select("draft_id", "analysts").iter_rows())
    return [
        assemble(
            each,
            given[each.draft.draft_id],
            json.loads(chosen[each.draft.draft_id]),
            verdicts.get(each.draft.draft_id, {}),
            dataset=dataset,
            position=place,
        )
        for place, each in enumerate(_kept(frames))
    ]


def assemble(
    opinions: Opinions,
    consensus: Consensus,
    selected: Sequence[str],
    verdicts: Mapping[str, Sequence[str]],
    *,
    dataset: str,
    position: int,
) -> Instance:
    """Return the instance: the selected analysts stand in the order of the pool, their selection order beside them.

    ``verdicts`` are those of the three judges by claim; a claim on which two disagree counts as wrong.
    """
    draft, table = opinions.draft, opinions.ranks
    rated, jsd = position_counts(table).sum(axis=1).tolist(), disagreement_of(label_counts(table)).tolist()
    return Instance(
        item_id=draft.draft_id,
        domain=draft.domain,
        vignette=draft.vignette,
        is_known_answer=draft.known_answer is not None,
        is_error_detection=draft.is_error_detection,
        claims=tuple(map(Claim, CLAIM_IDS, draft.claim_texts, rated, jsd)),
        analysts=tuple(
            Analyst(each.model_id, each.response or {})
            for each in opinions.candidates
            if each.model_id in selected
        ),
        consensus=consensus,
        verified_wrong=frozenset(claim for claim, given in verdicts.items() if is_wrong(given)),
        known_answer=draft.known_answer,
        selected_models=tuple(selected),
        dataset=dataset,
        position=position,
    )


def to_verify(frames: Frames) -> list[tuple[Draft, Consensus]]:
    """Return the drafts with a consensus that is to be verified."""
    given = _majority(frames)
    every = tables.drafts_of(frames("drafts"))
    return [(draft, given[draft.draft_id]) for draft in every if draft.draft_id in given]


def left_out(frames: Frames) -> dict[str, str]:
    """Return {draft: why it does not become an instance}."""
    dropped = frames("disagreement").filter(~pl.col("kept"))
    return dict(dropped.select("draft_id", "reason").unique(maintain_order=True).iter_rows())


def _majority(frames: Frames) -> dict[str, Consensus]:
    return tables.consensus_by_draft(frames("consensus"), MAJORITY_METHOD)


def _opinions(frames: Frames) -> list[Opinions]:
    return tables.opinions_of(tables.drafts_of(frames("drafts")), frames("opinions"))


def _kept(frames: Frames) -> list[Opinions]:
    """Return what was said of the drafts that are open enough."""
    kept = set(frames("disagreement").filter("kept")["draft_id"])
    return [each for each in _opinions(frames) if each.draft.draft_id in kept]


def _first(read: Callable[[str], ReadT | None], texts: Iterable[str]) -> ReadT | None:
    """Return what the first text says that can be read."""
    return next((found for text in texts if (found := read(text)) is not None), None)


def _all(found: int, total: int) -> Checked:
    """Of nothing, nothing can hold."""
    return Checked(bool(total) and found == total, {"found": found, "of": total})
