"""The stages that generate new instances, one asset each; `published` has the same stages where instances are given.

seeds → designs* → drafts → opinions* → disagreement → consensus → verification* → panels → gates → items

A stage with a star works on what designers, analysts or verifiers replied. No stage asks or writes anything: frames go in,
a frame comes out. What verifiers say of the consensus enters the choice of the panel.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline.asking import construction
from metacog_pipeline.asking.types import Task
from metacog_pipeline.benchmark.contract import Check, Checked, Inputs, Made, Role, Step
from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.medley.construction import authors
from metacog_pipeline.benchmarks.medley.construction.authors import Draft, Seed
from metacog_pipeline.benchmarks.medley.construction.consensus import (
    MAJORITY_METHOD,
    Ranks,
    disagreement,
    is_wrong,
    jackknife_majority,
    label_counts,
    position_counts,
    ranks,
    verified_claims,
)
from metacog_pipeline.benchmarks.medley.construction.gates import (
    Evidence,
    Gate,
    broken_invariants,
    draw_probes,
    evaluate,
    gate_frame,
)
from metacog_pipeline.benchmarks.medley.construction.selection import (
    PANEL,
    PER_FAMILY,
    Candidate,
    Pool,
    select,
)
from metacog_pipeline.benchmarks.medley.construction.simulated_authors import SimulatedAuthor
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DOMAINS, Analyst, Claim, Consensus, Instance
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import sha256_hex

LEAST_WORDS, MOST_WORDS = 200, 400
LEAST_DISAGREEMENT = (
    0.2  # nats, mean over the five claims; the paper filters for ambiguity without giving a rule
)
# The least a reply may take: a case of 400 words with evidence for five claims, five reasoned ratings, one verdict.
LEAST_TOKENS = {"designers": 4_000, "analysts": 3_000, "verifiers": 600}
_LEVELS = {"easy": 0.0, "moderate": 1.0, "hard": 2.0}
_TEXTS = pl.List(pl.String)


# --- who is asked what ------------------------------------------------------------------------------------------------
def seeds_of(benchmark: Any) -> tuple[Seed, ...]:
    """Return the seeds of a study; raises SourceError for those that cannot be used."""
    return authors.read_seeds(benchmark.context.beside(benchmark.settings.generator.seed_file))


def people(benchmark: Any, role: str) -> tuple[Any, ...]:
    """Return the models with a role, in the order the study names them, with room for its replies."""
    study = benchmark.context.study
    listed = {spec.name: spec for spec in (study.judges if role == "verifiers" else study.authors)}
    named = [listed[name] for name in getattr(benchmark.settings.generator, role)]
    least = LEAST_TOKENS[role]
    return tuple(spec.model_copy(update={"max_tokens": max(spec.max_tokens, least)}) for spec in named)


def _role(name: str, who: str, tasks: Callable[[Inputs], Sequence[Task]]) -> Role:
    return Role(
        name,
        models=lambda benchmark: people(benchmark, who),
        tasks=lambda benchmark, spec, inputs: tasks(inputs),
        respondent=lambda benchmark, spec: SimulatedAuthor(spec),
        prompt_digest=lambda benchmark: authors.words_digest(),
        incomplete_will_do=lambda benchmark: benchmark.settings.generator.allow_incomplete,
    )


_DESIGN = _role("designers", "designers", lambda inputs: authors.designer_tasks(_seeds(inputs)))
_RATE = _role("pool", "analysts", lambda inputs: authors.pool_tasks(_drafts(inputs)))
_VERIFY = _role("verification", "verifiers", lambda inputs: authors.verification_tasks(_to_verify(inputs)))
Replies = Mapping[str, Mapping[str, Sequence[str]]]


def _asked(role: Role, step: Callable[[Any, Inputs, Replies], Made]) -> Callable[[Any, Inputs], Made]:
    """Return how a stage is made of what a role replied; it also says whether everybody has answered everything."""

    def make(benchmark: Any, inputs: Inputs) -> Made:
        said = authors.replies_of(benchmark, inputs, role, authors.CALLS[role.name])
        every = [bool(texts) for by_item in said.values() for texts in by_item.values()]
        made = step(benchmark, inputs, said)
        return replace(made, checks={"all_was_answered": _all(sum(every), len(every)), **made.checks})

    return make


# --- the stages -------------------------------------------------------------------------------------------------------
def _seeds_made(benchmark: Any, inputs: Inputs) -> Made:
    given = seeds_of(benchmark)
    facts = {domain: sum(seed.domain == domain for seed in given) for domain in DOMAINS}
    rows = [seed.model_dump() for seed in given]
    return Made(
        frame=pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"claims": _TEXTS}), facts=facts
    )


def _designs(benchmark: Any, inputs: Inputs, replies: Replies) -> Made:
    ids = inputs.frame("seeds")["seed_id"]
    said = [(seed, name, text) for seed in ids for name, own in replies.items() for text in own.get(seed, ())]
    rows = [(*each, authors.read_design(each[2]) is not None) for each in said]
    frame = _frame(rows, "seed_id designer text", usable=pl.Boolean)
    usable = frame.filter("usable")["seed_id"].n_unique()
    return Made(frame=frame, checks={"every_seed_has_a_design": _all(usable, len(ids))})


def _drafts_made(benchmark: Any, inputs: Inputs) -> Made:
    given, texts = _seeds(inputs), inputs.frame("designs")
    found = [authors.draft_of(seed, texts.filter(seed_id=seed.seed_id)["text"].to_list()) for seed in given]
    made = [draft for draft in found if draft is not None]
    if not made:
        raise SourceError("drafts: no designer wrote a case that can be read; see the designs")
    rows = [{**draft.model_dump(), "tier": difficulty(draft.difficulty)} for draft in made]
    lists = {"claims": _TEXTS, "difficulty": _TEXTS}
    fixed = sum(len(set(draft.claims)) == len(CLAIM_IDS) for draft in made)
    long = sum(LEAST_WORDS <= len(draft.vignette.split()) <= MOST_WORDS for draft in made)
    checks = {
        "five_different_claims": _all(fixed, len(made)),
        "two_to_four_hundred_words": _all(long, len(made)),
    }
    frame = pl.DataFrame(rows, infer_schema_length=None, schema_overrides=lists)
    return Made(frame=frame, facts={"seeds without a case": len(given) - len(made)}, checks=checks)


def difficulty(levels: Sequence[str]) -> str:
    """Return the tier of a case from its designers' words: 0.6 · mean + 2 · variance of easy 0, moderate 1, hard 2."""
    if not levels:
        return "medium"
    values = np.array([_LEVELS.get(level, 1.0) for level in levels])
    combined = round(float(0.6 * values.mean() + 2.0 * values.var()), 4)
    return "easy" if combined < 0.8 else "medium" if combined < 1.5 else "hard"


def _opinions_made(benchmark: Any, inputs: Inputs, replies: Replies) -> Made:
    families = {spec.name: spec.family or spec.name for spec in people(benchmark, "analysts")}
    rows = []
    for draft in _drafts(inputs):
        for name, by_item in replies.items():
            reply = _first(partial(authors.read_analyst, draft=draft), by_item.get(draft.draft_id, ()))
            rows.append((draft.draft_id, name, families[name], None if reply is None else json.dumps(reply)))
    frame = _frame(rows, "draft_id analyst family response")
    readable = frame.height - frame["response"].null_count()
    return Made(frame=frame, checks={"replies_can_be_read": _all(readable, frame.height)})


def _disagreement_made(benchmark: Any, inputs: Inputs) -> Made:
    rows = []
    for draft, candidates in _opinions(inputs):
        table = _ranks(candidates)
        jsd, raters = disagreement(label_counts(table)).tolist(), position_counts(table).sum(axis=1).tolist()
        kept, why = ambiguity(jsd, known_answer=draft.known_answer is not None)
        told = zip(CLAIM_IDS, raters, jsd, strict=True)
        rows += [(draft.draft_id, claim, why, n, value, kept) for claim, n, value in told]
    frame = _frame(rows, "draft_id claim_id reason", n_rated=pl.Int64, jsd=pl.Float64, kept=pl.Boolean)
    kept_ids, every = frame.filter("kept")["draft_id"].n_unique(), frame["draft_id"].n_unique()
    facts = {"kept": kept_ids, "left_out": every - kept_ids}
    return Made(frame=frame, facts=facts, checks={"something_is_open": Checked(kept_ids > 0, facts)})


def ambiguity(jsd: Sequence[float], *, known_answer: bool = False) -> tuple[bool, str]:
    """Say whether a case is kept, and why: mean disagreement of at least 0.2 nats, and no claim on which all agree.

    Cases with a known answer are kept in any case, since there the crowd is meant to agree on something wrong.
    """
    if known_answer:
        return True, "the answer is known"
    if unanimous := [claim for claim, value in zip(CLAIM_IDS, jsd, strict=True) if value <= 0]:
        return False, f"all agree about {', '.join(unanimous)}"
    mean = sum(jsd) / len(jsd)
    if mean < LEAST_DISAGREEMENT:
        return False, f"mean disagreement {mean:.3f} is below {LEAST_DISAGREEMENT:g}"
    return True, "the pool disagrees"


def _consensus_made(benchmark: Any, inputs: Inputs) -> Made:
    rows = []
    for draft, candidates in _kept(inputs):
        found = jackknife_majority(_ranks(candidates), CLAIM_IDS)
        details = {claim: json.dumps(told) for claim, told in found.claim_details.items()}
        rows += [
            (draft.draft_id, claim, details[claim], value) for claim, value in found.claim_confidences.items()
        ]
    return Made(
        frame=_frame(rows, "draft_id claim_id details", confidence=pl.Float64), facts={"claims": len(rows)}
    )


def _verification_made(benchmark: Any, inputs: Inputs, replies: Replies) -> Made:
    rows = [
        (
            draft.draft_id,
            claim,
            name,
            _first(authors.read_verdict, texts.get(f"{draft.draft_id}_{claim}", ())),
        )
        for draft, _ in _to_verify(inputs)
        for claim in CLAIM_IDS
        for name, texts in replies.items()
    ]
    frame = _frame(rows, "draft_id claim_id judge verdict")
    counted = dict(frame["verdict"].drop_nulls().value_counts().sort("verdict").iter_rows())
    checks = {"three_verdicts_on_every_claim": _all(sum(counted.values()), frame.height)}
    return Made(frame=frame, facts=counted, checks=checks)


def _panels_made(benchmark: Any, inputs: Inputs) -> Made:
    consensus, said, rows, capped = _consensus(inputs), _verdicts(inputs), [], 0
    for draft, candidates in _kept(inputs):
        name = draft.draft_id
        found = select(Pool(candidates, verified_claims(consensus[name], said.get(name, {})), CLAIM_IDS))
        capped += max(found.family_counts.values()) <= PER_FAMILY
        rows.append({"draft_id": name, "analysts": list(found.selected_models), **asdict(found.scores)})
    full = sum(len(row["analysts"]) == PANEL for row in rows)
    checks = {"eight_analysts": _all(full, len(rows)), "at_most_two_per_family": _all(capped, len(rows))}
    return Made(frame=pl.DataFrame(rows, schema_overrides={"analysts": _TEXTS}), checks=checks)


def _gates_made(benchmark: Any, inputs: Inputs) -> Made:
    instances = assembled(inputs)
    known = Evidence(
        difficulty=_tiers(inputs),
        probes=draw_probes(instances, benchmark.context.seed),
        prompt_versions=[f"{name}@{sha256_hex(text)[:12]}" for name, text in authors.words().items()],
        verdicts=_verdicts(inputs),
        families=dict(inputs.frame("opinions").select("analyst", "family").iter_rows()),
        anonymised=benchmark.settings.anonymise,
    )
    return gates_made(evaluate(instances, known))


def gates_made(found: Sequence[Gate]) -> Made:
    """Return the gates of a set with whether it may be released."""
    failed = [gate.render() for gate in found if gate.stops]
    checks = {"fit_to_be_released": Checked(not failed, {"failed": "; ".join(failed)})}
    return Made(frame=gate_frame(found), facts={"gates that stop": len(failed)}, checks=checks)


def finished(benchmark: Any, whole: Sequence[Instance]) -> Made:
    """Return at most ``limit`` instances of a whole set, drawn by their ids, with what is known of them."""
    chosen, limit = list(whole), benchmark.settings.limit
    if limit is not None:
        kept = set(seeded_sample([each.item_id for each in whole], limit, benchmark.context.seed, "medley"))
        chosen = [each for each in whole if each.item_id in kept]
        chosen = [each.changed(position=place) for place, each in enumerate(chosen)]
    broken = broken_invariants(chosen)
    facts = {
        **{domain: sum(each.domain == domain for each in chosen) for domain in DOMAINS},
        "known_answer": sum(each.known_answer is not None for each in chosen),
        "verified_wrong_claims": sum(len(each.verified_wrong) for each in chosen),
    }
    checks = {"invariants_hold": Checked(not broken, {"violations": "; ".join(broken)})}
    return Made(rows=chosen, facts=facts, checks=checks)


def assembled(inputs: Inputs) -> list[Instance]:
    """Return the whole set of instances, in the order of the drafts; analysts in the order of the pool."""
    consensus, said, made = _consensus(inputs), _verdicts(inputs), []
    chosen = dict(inputs.frame("panels").select("draft_id", "analysts").iter_rows())
    for place, (draft, candidates) in enumerate(_kept(inputs)):
        table, selected = _ranks(candidates), chosen[draft.draft_id]
        rated, jsd = position_counts(table).sum(axis=1).tolist(), disagreement(label_counts(table)).tolist()
        wrong = (claim for claim, given in said.get(draft.draft_id, {}).items() if is_wrong(given))
        instance = Instance(
            item_id=draft.draft_id,
            domain=draft.domain,
            vignette=draft.vignette,
            is_known_answer=draft.known is not None,
            is_error_detection=draft.is_error_detection,
            claims=tuple(map(Claim, CLAIM_IDS, draft.claims, rated, jsd)),
            analysts=tuple(
                Analyst(c.model_id, c.response or {}) for c in candidates if c.model_id in selected
            ),
            consensus=consensus[draft.draft_id],
            verified_wrong=frozenset(wrong),
            known_answer=draft.known,
            selected_models=tuple(selected),
            dataset="custom",
            position=place,
        )
        made.append(instance)
    return made


def written(
    benchmark: Any,
) -> tuple[list[Instance], Mapping[str, Mapping[str, Sequence[str]]], dict[str, str]]:
    """Return the whole set a study made, the verdicts by instance and claim, and the difficulty of each."""
    if stale := [s for s in construction.stale_steps(benchmark) if s in construction.for_items(benchmark)]:
        raise SourceError(f"medley_{stale[0]} is not made yet; run `metacog run` first")
    kept = construction.KeptInputs(benchmark)
    return assembled(kept), _verdicts(kept), _tiers(kept)


# --- what a stage reads of earlier ones -------------------------------------------------------------------------------
def _seeds(inputs: Inputs) -> list[Seed]:
    return [Seed(**row) for row in inputs.frame("seeds").to_dicts()]


def _drafts(inputs: Inputs) -> list[Draft]:
    return [Draft(**row) for row in inputs.frame("drafts").drop("tier").to_dicts()]


def _tiers(inputs: Inputs) -> dict[str, str]:
    return dict(inputs.frame("drafts").select("draft_id", "tier").iter_rows())


def _opinions(inputs: Inputs) -> list[tuple[Draft, list[Candidate]]]:
    """Return each draft with the opinions of the whole pool, in the order of the pool."""
    said: dict[str, list[Candidate]] = {}
    for draft, name, family, text in inputs.frame("opinions").iter_rows():
        response = None if text is None else json.loads(text)
        items = [] if response is None else response["claim_level_assessments"]
        labels = {item["claim_id"]: item["confidence"] for item in items} or None
        said.setdefault(draft, []).append(Candidate(name, family, labels, response))
    return [(draft, said.get(draft.draft_id, [])) for draft in _drafts(inputs)]


def _kept(inputs: Inputs) -> list[tuple[Draft, list[Candidate]]]:
    kept = set(inputs.frame("disagreement").filter("kept")["draft_id"])
    return [each for each in _opinions(inputs) if each[0].draft_id in kept]


def _ranks(candidates: Sequence[Candidate]) -> Ranks:
    return ranks([each.labels for each in candidates], CLAIM_IDS)


def _consensus(inputs: Inputs) -> dict[str, Consensus]:
    found: dict[str, Consensus] = {}
    for draft, claim, details, value in inputs.frame("consensus").iter_rows():
        given = found.setdefault(draft, Consensus({}, {}, MAJORITY_METHOD))
        given.claim_confidences[claim], given.claim_details[claim] = value, json.loads(details)
    return found


def _to_verify(inputs: Inputs) -> list[tuple[Draft, Consensus]]:
    given = _consensus(inputs)
    return [(draft, given[draft.draft_id]) for draft in _drafts(inputs) if draft.draft_id in given]


def _verdicts(inputs: Inputs) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return {draft: {claim: verdicts}}, judges in their order; where a judge gave none it is left out."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for draft, claim, _, verdict in inputs.frame("verification").drop_nulls("verdict").iter_rows():
        claims = found.setdefault(draft, {})
        claims[claim] = (*claims.get(claim, ()), verdict)
    return found


def _first(read: Callable[[str], Any], texts: Iterable[str]) -> Any:
    """Return what the first text says that can be read."""
    return next((found for text in texts if (found := read(text)) is not None), None)


def _frame(rows: Sequence[tuple[Any, ...]], texts: str, **kinds: Any) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={**dict.fromkeys(texts.split(), pl.String), **kinds}, orient="row")


def _all(found: int, total: int) -> Checked:
    """Of nothing, nothing can hold."""
    return Checked(bool(total) and found == total, {"found": found, "of": total})


# --- what is declared -------------------------------------------------------------------------------------------------
_SEEN = "source drafts opinions disagreement consensus verification panels"
#: {stage: (what it is, what it reads where that is there)}; where instances are given, source replaces all before
#: disagreement.
STAGES = {
    "source": ("The published instances with their analysts and consensus, or a folder in their layout.", ""),
    "seeds": ("What new cases are to be about: a situation, what makes it open, and five claims.", ""),
    "designs": ("Cases that designers wrote from the seeds; their replies are kept as transcripts.", "seeds"),
    "drafts": (
        "The longest case of each seed, its five claims with fixed texts, and its tier.",
        "seeds designs",
    ),
    "opinions": ("What every analyst says of every case; the replies are kept as transcripts.", "drafts"),
    "disagreement": (
        "How much analysts disagree about each claim (JSD); which cases are open.",
        "source drafts opinions",
    ),
    "consensus": ("What the analysts say together of each claim.", "source drafts opinions disagreement"),
    "verification": ("What three verifiers say of the consensus on each claim.", "source drafts consensus"),
    "panels": (
        "The eight analysts who are shown with each case, chosen for how they differ.",
        _SEEN.removesuffix(" panels"),
    ),
    "gates": ("Whether the finished set may be released; a small one fails the gates on size.", _SEEN),
    "items": (
        "The instances: a case, five claims, eight analysts who disagree, their consensus.",
        f"{_SEEN} gates",
    ),
}
_CHECKS = {
    "all_was_answered": Check("Everybody has answered everything."),
    "every_seed_has_a_design": Check("A case that can be read for every seed."),
    "five_different_claims": Check("Five claims, no two equal.", blocking=True),
    "two_to_four_hundred_words": Check("Cases are as long as they should be."),
    "replies_can_be_read": Check("Every analyst can be read about every case."),
    "something_is_open": Check("Some case is open enough.", blocking=True),
    "three_verdicts_on_every_claim": Check("Each verifier has a verdict on each claim."),
    "eight_analysts": Check("Eight analysts, or all where there are fewer.", blocking=True),
    "at_most_two_per_family": Check("No panel is of one family; the rule gives way where no other is left."),
    "fit_to_be_released": Check("The gates a set must pass; a small one fails those on size."),
    "invariants_hold": Check("Five claims, a panel, a consensus that names the same claims.", blocking=True),
    "jsd_follows_from_counts": Check(
        "Each disagreement follows from exactly one set of five counts of labels."
    ),
    "consensus_is_the_label_median": Check("A published consensus is the upper median of the labels shown."),
    "majority_is_the_published_one": Check(
        "The majority's verdict is the most frequent, ties to the first judge."
    ),
    "panels_are_the_published_ones": Check(
        "Scores, parts, positions, families of each panel are those published."
    ),
    "order_is_the_published_one": Check(
        "Greedy steps lead to the order, but for a firmly wrong analyst put in last."
    ),
}
Maker = Callable[[Any, Inputs], Made]


def stage(
    name: str, make: Maker, checks: str, there: str, asks: Role | None = None, inputs: Any = None
) -> Step:
    """Return a step; it reads those of `STAGES` that are ``there`` in its set."""
    says, reads = STAGES[name]
    needs = tuple(each for each in reads.split() if each in there.split())
    writes = Instance if name == "items" else None
    known = {each: _CHECKS[each] for each in checks.split()}
    return Step(name, says, make, needs, writes, known, asks, inputs)


def _worded(benchmark: Any) -> Any:
    return authors.words_digest()


_step = partial(stage, there=" ".join(name for name in STAGES if name != "source"))
STEPS = (
    _step("seeds", _seeds_made, "", inputs=lambda benchmark: [seed.item_hash for seed in seeds_of(benchmark)]),
    _step("designs", _asked(_DESIGN, _designs), "all_was_answered every_seed_has_a_design", asks=_DESIGN, inputs=_worded),
    _step("drafts", _drafts_made, "five_different_claims two_to_four_hundred_words"),
    _step("opinions", _asked(_RATE, _opinions_made), "all_was_answered replies_can_be_read", asks=_RATE, inputs=_worded),
    _step("disagreement", _disagreement_made, "something_is_open"),
    _step("consensus", _consensus_made, ""),
    _step(
        "verification", _asked(_VERIFY, _verification_made), "all_was_answered three_verdicts_on_every_claim",
        asks=_VERIFY, inputs=_worded,
    ),
    _step("panels", _panels_made, "eight_analysts at_most_two_per_family"),
    _step("gates", _gates_made, "fit_to_be_released", inputs=_worded),
    _step("items", lambda benchmark, inputs: finished(benchmark, assembled(inputs)), "invariants_hold"),
)  # fmt: skip
