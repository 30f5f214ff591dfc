"""The steps that make new instances: what each reads, what it makes of it, and what must hold for that.

seeds → designs* → drafts → opinions* → disagreement → consensus → verification* → panels → gates → items

A step with a star works on what designers, analysts or verifiers replied. No step asks, reads or writes anything: frames
go in, a frame comes out. The sample, a study's own people and simulated ones take the same steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import polars as pl

from metacog_pipeline.benchmark.contract import Checked, Made
from metacog_pipeline.benchmarks.medley.construction import assembly, invariants, tables
from metacog_pipeline.benchmarks.medley.construction.assembly import Opinions
from metacog_pipeline.benchmarks.medley.construction.consensus import MAJORITY_METHOD, label_median
from metacog_pipeline.benchmarks.medley.construction.designs import Seed, draft_of, read_design
from metacog_pipeline.benchmarks.medley.construction.drafts import Draft
from metacog_pipeline.benchmarks.medley.construction.filters import ambiguity
from metacog_pipeline.benchmarks.medley.construction.finished import gates_made
from metacog_pipeline.benchmarks.medley.construction.gates import Evidence, evaluate
from metacog_pipeline.benchmarks.medley.construction.pool import read_analyst
from metacog_pipeline.benchmarks.medley.construction.probes import draw_probes
from metacog_pipeline.benchmarks.medley.construction.selection import PANEL, PER_FAMILY
from metacog_pipeline.benchmarks.medley.construction.verdicts import read_verdict, verdict_id
from metacog_pipeline.benchmarks.medley.construction.verification import VERDICTS, verified_claims
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DOMAINS, Consensus, Instance
from metacog_pipeline.benchmarks.medley.labels import LABELS
from metacog_pipeline.errors import SourceError

LEAST_WORDS, MOST_WORDS = 200, 400
MOST_DISAGREEMENT = 0.42282  # nats: five labels equally often, rounded up
Frames = Callable[[str], pl.DataFrame]
"""What an earlier step made, by its name."""
Replies = Mapping[str, Mapping[str, Sequence[str]]]
"""{name: {item: its texts, in the order they were asked for}}, in the order of the study file."""


def seeds(given: Sequence[Seed]) -> Made:
    """Write down what new cases are to be about."""
    frame = tables.frame_of(map(tables.seed_row, given), tables.SEEDS)
    counted = Counter(frame["domain"].to_list())
    per_domain = {domain: counted[domain] for domain in DOMAINS}
    known = int(frame["known_answer"].is_not_null().sum())
    checks = {"every_domain_has_seeds": Checked(all(per_domain.values()), per_domain)}
    return Made(frame=frame, facts={**per_domain, "known_answer": known}, checks=checks)


def designs(frames: Frames, replies: Replies) -> Made:
    """Write down the cases that designers wrote from the seeds."""
    given = tables.seeds_of(frames("seeds"))
    rows = []
    for seed in given:
        for designer, texts in replies.items():
            for text in texts.get(seed.seed_id, ()):
                design = read_design(text)
                words = len(design.vignette.split()) if design else 0
                rows.append((seed.seed_id, designer, design is not None, words, text))
    frame = pl.DataFrame(rows, schema=tables.DESIGNS, orient="row")
    usable = frame.filter("usable")["seed_id"].n_unique()
    checks = {"every_seed_has_a_design": _all(usable, len(given))}
    return Made(frame=frame, facts={"usable": int(frame["usable"].sum())}, checks=checks)


def drafts(frames: Frames) -> Made:
    """Return the longest case of each seed, its five claims with fixed texts, and how hard its designers find it."""
    texts: dict[str, list[str]] = {}
    for seed_id, text in frames("designs").select("seed_id", "text").iter_rows():
        texts.setdefault(seed_id, []).append(text)
    given = tables.seeds_of(frames("seeds"))
    made = [draft for seed in given if (draft := draft_of(seed, texts.get(seed.seed_id, []))) is not None]
    if not made:
        raise SourceError("drafts: no designer wrote a case that can be read; see the designs")
    frame = tables.frame_of(map(tables.draft_row, made), tables.DRAFTS)
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
        texts = {name: by_item.get(draft.draft_id, ()) for name, by_item in replies.items()}
        rows += tables.opinion_rows(read_opinions(draft, texts, families), texts)
    frame = tables.frame_of(rows, tables.OPINIONS)
    readable = frame.filter(pl.col("response").is_not_null())
    labels = readable.select(CLAIM_IDS)
    rated = labels.unpivot()["value"].drop_nulls()
    five = int(labels.select(pl.all_horizontal(pl.all().is_not_null()).sum()).item())
    checks = {
        "labels_in_vocabulary": _all(int(rated.is_in(list(LABELS)).sum()), len(rated)),
        "five_ratings_per_analyst": _all(five, readable.height),
        "replies_can_be_read": _all(readable.height, frame.height),
        "every_draft_was_judged": _all(readable["draft_id"].n_unique(), len(given)),
    }
    return Made(frame=frame, facts={"analysts": len(replies), "readable": readable.height}, checks=checks)


def disagreement(frames: Frames) -> Made:
    """Return how much the analysts disagree about each claim, and which cases are open enough to be kept."""
    rows = []
    for each in _opinions(frames):
        measured, draft = assembly.facts(each), each.draft
        verdict = ambiguity(measured.jsd, CLAIM_IDS, known_answer=draft.known_answer is not None)
        rows += tables.disagreement_rows(draft, measured, verdict)
    frame = tables.frame_of(rows, tables.DISAGREEMENT)
    kept, every = frame.filter("kept")["draft_id"].n_unique(), frame["draft_id"].n_unique()
    inside = frame.filter(pl.col("jsd").is_between(0, MOST_DISAGREEMENT)).height
    checks = {
        "within_its_range": _all(inside, frame.height),
        "five_claims_each": _all(frame.height, every * len(CLAIM_IDS)),
        "something_is_open": Checked(kept > 0, {"kept": kept, "of": every}),
    }
    return Made(frame=frame, facts={"kept": kept, "left_out": every - kept}, checks=checks)


def consensus(frames: Frames) -> Made:
    """Return what the analysts say together: the majority that stands whoever is left out, and the label median."""
    kept, rows = _kept(frames), []
    for each in kept:
        rows += tables.consensus_rows(each.draft, assembly.pool_consensus(each))
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
    rows = []
    for draft, _ in to_verify(frames):
        for claim in CLAIM_IDS:
            for name, texts in replies.items():
                read = map(read_verdict, texts.get(verdict_id(draft.draft_id, claim), ()))
                rows.append((draft.draft_id, claim, name, next(filter(None, read), None)))
    frame = pl.DataFrame(rows, schema=tables.VERIFICATION, orient="row")
    covered = int(frame["verdict"].is_in(list(VERDICTS)).sum())
    counted = {
        str(name): n for name, n in frame["verdict"].drop_nulls().value_counts().sort("verdict").iter_rows()
    }
    return Made(
        frame=frame, facts=counted, checks={"three_verdicts_on_every_claim": _all(covered, frame.height)}
    )


def panels(frames: Frames, *, verified: bool = True) -> Made:
    """Return the eight analysts who are shown with each case, chosen for how they differ and, where ``verified``, for
    how their positions fit what verifiers say of the consensus.
    """
    given, said = _majority(frames), tables.verdicts_by_draft(frames("verification")) if verified else {}
    chosen = []
    for each in _kept(frames):
        name = each.draft.draft_id
        chosen.append((each, assembly.panel(each, verified_claims(given[name], said.get(name, {})))))
    frame = tables.frame_of((tables.panel_row(each.draft, found) for each, found in chosen), tables.PANELS)
    full = sum(len(found.selected_models) == min(PANEL, len(each.models)) for each, found in chosen)
    capped = sum(max(found.family_counts.values(), default=0) <= PER_FAMILY for _, found in chosen)
    rated = sum(_all_readable(each, found.selected_models) for each, found in chosen)
    checks = {
        "eight_analysts": _all(full, len(chosen)),
        "at_most_two_per_family": _all(capped, len(chosen)),
        "all_of_them_could_be_read": _all(rated, len(chosen)),
    }
    return Made(frame=frame, facts={"panels": len(chosen)}, checks=checks)


def gates(
    frames: Frames, *, dataset: str, seed: int, prompt_versions: Sequence[str], anonymised: bool
) -> Made:
    """Say whether the whole set may be released; ``seed`` draws the instances that carry a probe."""
    instances = assembled(frames, dataset)
    known = evidence(frames, instances, seed, prompt_versions, anonymised=anonymised)
    broken = invariants.check(instances)
    made = gates_made(evaluate(instances, known), len(instances))
    hold = Checked(not broken, {"violations": "; ".join(broken)})
    return replace(made, checks={"invariants_hold": hold, **made.checks})


def assembled(frames: Frames, dataset: str) -> list[Instance]:
    """Return the whole set of instances, in the order of the drafts."""
    given = _majority(frames)
    chosen = tables.panels_of(frames("panels"))
    verdicts = tables.verdicts_by_draft(frames("verification"))
    names = [(each, each.draft.draft_id) for each in _kept(frames)]
    return assembly.numbered(
        [
            assembly.assemble(each, given[name], chosen[name], verdicts.get(name), dataset=dataset)
            for each, name in names
        ]
    )


def evidence(
    frames: Frames,
    instances: Sequence[Instance],
    seed: int,
    prompt_versions: Sequence[str],
    *,
    anonymised: bool,
) -> Evidence:
    """Return what is known of the set besides its instances."""
    probes = draw_probes(instances, seed)
    return Evidence(
        difficulty=dict(frames("drafts").select("draft_id", "tier").iter_rows()),
        traps=probes["trap"],
        minimal_probes=probes["minimal_instruction"],
        verdicts=tables.verdicts_by_draft(frames("verification")),
        families=dict(frames("opinions").select("analyst", "family").iter_rows()),
        prompt_versions=prompt_versions,
        anonymised=anonymised,
    )


def read_opinions(
    draft: Draft, replies: Mapping[str, Sequence[str]], families: Mapping[str, str]
) -> Opinions:
    """Return what {analyst: texts} say of a draft, in that order."""
    read = {
        model: next((found for text in texts if (found := read_analyst(text, draft)) is not None), None)
        for model, texts in replies.items()
    }
    return Opinions(draft, tuple(read), tuple(families.get(m, m) for m in read), tuple(read.values()))


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


def _all_readable(each: Opinions, chosen: Collection[str]) -> bool:
    said = zip(each.models, each.responses, strict=True)
    return all(response is not None for model, response in said if model in chosen)


def _all(found: int, total: int) -> Checked:
    """Of nothing, nothing can hold."""
    return Checked(bool(total) and found == total, {"found": found, "of": total})
