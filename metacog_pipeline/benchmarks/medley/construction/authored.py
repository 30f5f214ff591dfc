"""The stages where instances are made: what is asked of designers, analysts and verifiers, and what must hold.

The sample's simulated people and a study's own models take the same steps. What they reply is kept as transcripts like any
other, so a step that is stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Check, Checked, Inputs, Made, Respondent, Role
from metacog_pipeline.benchmarks.medley.construction import assembly, designs, pool, steps, tables, verdicts
from metacog_pipeline.benchmarks.medley.construction.consensus import MAJORITY_METHOD
from metacog_pipeline.benchmarks.medley.construction.designs import Seed
from metacog_pipeline.benchmarks.medley.construction.drafts import Draft
from metacog_pipeline.benchmarks.medley.construction.finished import ITEM_CHECKS, finished
from metacog_pipeline.benchmarks.medley.construction.pipeline import Stage, steps_of
from metacog_pipeline.benchmarks.medley.construction.roles import ANALYSTS, DESIGNERS, FIRST_SAMPLE, VERIFIERS
from metacog_pipeline.benchmarks.medley.construction.simulated_authors import (
    Person,
    SimulatedAuthor,
    read_sample,
)
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, Consensus, Instance
from metacog_pipeline.benchmarks.medley.labels import LABELS
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Status
from metacog_pipeline.querying.types import Task

REASON_WORDS = 60  # of one analyst on one claim, at most
_WORD = "measured "
_NOTE = (
    f"Instances that are not made yet are counted as if every seed became one, of {steps.MOST_WORDS} words."
)
_ANSWERED = Check("Everybody has answered everything.")


# --- who is asked what ------------------------------------------------------------------------------------------------
def _role(name: str, who: str, tasks: Callable[[Any, Inputs], Sequence[Task]]) -> Role:
    """Return a role; its transcripts keep the name they always had."""
    return Role(
        name,
        models=lambda benchmark: benchmark.roles.people[who],
        tasks=lambda benchmark, spec, inputs: tasks(benchmark, inputs),
        respondent=lambda benchmark, spec: _respondent(benchmark, who, spec),
        at_most=lambda benchmark: AtMost(benchmark),
        plan_note=_NOTE,
        worded_by=lambda benchmark: benchmark.author_words.digest,
        incomplete_will_do=lambda benchmark: benchmark.incomplete_will_do,
    )


def _respondent(benchmark: Any, who: str, spec: ModelSpec) -> Respondent:
    known: Respondent | None = benchmark.roles.respondents.get((who, spec.name))
    if known is not None:
        return known
    seen = spec.observer
    person = Person(spec.name, spec.family or spec.name, seen.accuracy, untidiness=seen.untidiness)
    return SimulatedAuthor(person, benchmark.author_words, read_sample(), seen.seed)


_DESIGN = _role(
    "designers",
    DESIGNERS,
    lambda benchmark, inputs: designs.designer_tasks(
        tables.seeds_of(inputs.frame("seeds")), benchmark.author_words
    ),
)
_RATE = _role(
    "pool",
    ANALYSTS,
    lambda benchmark, inputs: pool.pool_tasks(
        tables.drafts_of(inputs.frame("drafts")), benchmark.author_words
    ),
)
_VERIFY = _role(
    "verification",
    VERIFIERS,
    lambda benchmark, inputs: verdicts.verification_tasks(
        steps.to_verify(inputs.frame), benchmark.author_words
    ),
)
_CALLS = {
    "designers": (designs.DESIGN, designs.AGAIN),
    "pool": (pool.ANALYSE, pool.AGAIN),
    "verification": (verdicts.VERIFY, verdicts.AGAIN),
}


def texts_of(
    transcripts: pl.DataFrame, hashes: Mapping[str, str], calls: Sequence[str]
) -> dict[str, list[str]]:
    """Return {item: texts} of a model, calls in order, of two answers to one call the later first.

    Failed calls and answers to another text than that of ``hashes`` (item → hash) are left out.
    """
    frame = transcripts.filter(pl.col("status") != Status.FAILED.value, pl.col("step").is_in(list(calls)))
    frame = frame.sort("started_at", descending=True, maintain_order=True)
    found: dict[str, list[str]] = {}
    for call in calls:
        rows = frame.filter(pl.col("step") == call).select("item_id", "item_hash", "text")
        for item, digest, text in rows.iter_rows():
            if hashes.get(item) == digest:
                found.setdefault(item, []).append(text)
    return found


def _replies(benchmark: Any, inputs: Inputs, role: Role) -> tuple[dict[str, dict[str, list[str]]], Checked]:
    """Return {model: {item: texts}} of a role, and whether everybody has answered everything."""
    kept, people = inputs.answers(role.name), role.models(benchmark)
    found: dict[str, dict[str, list[str]]] = {}
    wanted = 0
    for spec in people:
        hashes = {task.item_id: task.item_hash for task in role.tasks(benchmark, spec, inputs)}
        own = kept.filter(pl.col("model") == spec.name) if kept.width else kept
        found[spec.name] = texts_of(own, hashes, _CALLS[role.name]) if own.height else {}
        wanted += len(hashes)
    answered = sum(map(len, found.values()))
    return found, Checked(answered == wanted, {"answered": answered, "of": wanted})


# --- the steps --------------------------------------------------------------------------------------------------------
def _asked(role: Role, step: Callable[[Any, steps.Frames, steps.Replies], Made]) -> Callable[..., Made]:
    """Return how a stage is made of what a role replied; it also says whether everybody has answered everything."""

    def make(benchmark: Any, inputs: Inputs) -> Made:
        said, answered = _replies(benchmark, inputs, role)
        made = step(benchmark, inputs.frame, said)
        return replace(made, checks={"all_was_answered": answered, **made.checks})

    return make


def _gates(benchmark: Any, inputs: Inputs) -> Made:
    return steps.gates(
        inputs.frame,
        dataset=benchmark.roles.dataset,
        seed=benchmark.context.seed,
        prompt_versions=benchmark.author_words.versions,
        anonymised=benchmark.settings.anonymise,
    )


def _items(benchmark: Any, inputs: Inputs) -> Made:
    whole = steps.assembled(inputs.frame, benchmark.roles.dataset)
    return finished(benchmark, whole, steps.left_out(inputs.frame))


def _words(benchmark: Any) -> Any:
    return benchmark.author_words.digest


STEPS = steps_of(
    seeds=Stage(
        lambda benchmark, inputs: steps.seeds(benchmark.roles.seeds),
        {"every_domain_has_seeds": Check("All five domains have seeds.")},
        inputs=lambda benchmark: [benchmark.roles.dataset, benchmark.roles.seeds_digest],
    ),
    designs=Stage(
        _asked(_DESIGN, lambda benchmark, frames, said: steps.designs(frames, said)),
        {
            "all_was_answered": _ANSWERED,
            "every_seed_has_a_design": Check("A case that can be read for every seed."),
        },
        asks=_DESIGN,
        inputs=_words,
    ),
    drafts=Stage(
        lambda benchmark, inputs: steps.drafts(inputs.frame),
        {
            "five_different_claims": Check("Five claims, no two equal.", blocking=True),
            "two_to_four_hundred_words": Check("Cases are as long as they should be."),
            "every_seed_has_a_draft": Check("No seed went without a case."),
        },
    ),
    opinions=Stage(
        _asked(_RATE, lambda benchmark, frames, said: steps.opinions(frames, said, benchmark.roles.families)),
        {
            "all_was_answered": _ANSWERED,
            "labels_in_vocabulary": Check("Every label is one of the five words.", blocking=True),
            "five_ratings_per_analyst": Check(
                "Whoever can be read rates exactly the five claims.", blocking=True
            ),
            "replies_can_be_read": Check("Every analyst can be read about every case."),
            "every_draft_was_judged": Check("Somebody can be read about every case."),
        },
        asks=_RATE,
        inputs=_words,
    ),
    disagreement=Stage(
        lambda benchmark, inputs: steps.disagreement(inputs.frame),
        {
            "within_its_range": Check("Between full agreement and five labels equally often.", blocking=True),
            "five_claims_each": Check("Every claim of every case, once.", blocking=True),
            "something_is_open": Check("Some case is open enough.", blocking=True),
        },
    ),
    consensus=Stage(
        lambda benchmark, inputs: steps.consensus(inputs.frame),
        {
            "one_on_every_claim": Check("A consensus on every claim of every case kept.", blocking=True),
            "within_zero_and_one": Check("Confidences are shares.", blocking=True),
        },
    ),
    verification=Stage(
        _asked(_VERIFY, lambda benchmark, frames, said: steps.verification(frames, said)),
        {
            "all_was_answered": _ANSWERED,
            "three_verdicts_on_every_claim": Check("Each verifier has a verdict on each claim."),
        },
        asks=_VERIFY,
        inputs=_words,
    ),
    panels=Stage(
        lambda benchmark, inputs: steps.panels(
            inputs.frame, verified=benchmark.settings.dataset != FIRST_SAMPLE
        ),
        {
            "eight_analysts": Check("Eight analysts, or all where there are fewer.", blocking=True),
            "at_most_two_per_family": Check(
                "No panel is of one family; the rule gives way where nobody else is left."
            ),
            "all_of_them_could_be_read": Check("Nobody is shown whose reply could not be read."),
        },
        inputs=lambda benchmark: benchmark.settings.dataset != FIRST_SAMPLE,
    ),
    gates=Stage(
        _gates,
        {
            "invariants_hold": Check(
                "Five claims, a panel, a consensus that names the same claims.", blocking=True
            ),
            "fit_to_be_released": Check("The gates a set must pass; a small one fails those on size."),
        },
        inputs=_words,
    ),
    items=Stage(_items, ITEM_CHECKS),
)


# --- before anybody has answered --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class AtMost:
    """The inputs as they may be at most: every seed becomes a case of the greatest length, none is left out."""

    benchmark: Any
    made: dict[str, pl.DataFrame] = field(default_factory=dict)

    def frame(self, step: str) -> pl.DataFrame:
        """Return the table of an earlier step."""
        if step not in self.made:
            self.made[step] = self._made(step)
        return self.made[step]

    def rows(self, step: str) -> list[Instance]:
        """Return the items."""
        every = tables.opinions_of(tables.drafts_of(self.frame("drafts")), self.frame("opinions"))
        found = [
            assembly.assemble(
                each,
                assembly.pool_consensus(each),
                assembly.panel(each),
                dataset=self.benchmark.roles.dataset,
            )
            for each in every
        ]
        made = finished(self.benchmark, assembly.numbered(found), {})
        return [each for each in made.rows if isinstance(each, Instance)]

    def answers(self, role: str) -> pl.DataFrame:
        """Return what was answered: nothing."""
        return pl.DataFrame()

    def _made(self, step: str) -> pl.DataFrame:
        seeds = self.benchmark.roles.seeds
        if step == "seeds":
            return tables.frame_of(map(tables.seed_row, seeds), tables.SEEDS)
        drafts = [_longest(seed) for seed in seeds]
        if step == "drafts":
            return tables.frame_of(map(tables.draft_row, drafts), tables.DRAFTS)
        if step == "opinions":
            people = self.benchmark.roles.people[ANALYSTS]
            rows = [row for draft in drafts for row in tables.opinion_rows(_opinion(draft, people), {})]
            return tables.frame_of(rows, tables.OPINIONS)
        rows = [row for draft in drafts for row in tables.consensus_rows(draft, _divided())]
        return tables.frame_of(rows, tables.CONSENSUS)


def _longest(seed: Seed) -> Draft:
    length = steps.MOST_WORDS - len(seed.scenario.split())
    vignette = f"{seed.scenario} {_WORD * length}".strip()
    return Draft(seed.seed_id, seed.domain, vignette, seed.claims, (), seed.known_answer, bool(seed.error))


def _opinion(draft: Draft, people: Sequence[ModelSpec]) -> assembly.Opinions:
    """Return replies of everybody, unlike each other and as long as replies are."""
    said = []
    for place, spec in enumerate(people):
        items = [
            {
                "claim_id": claim,
                "claim_text": text,
                "confidence": LABELS[(place + number) % len(LABELS)],
                "reasoning": f"{spec.name} {_WORD * REASON_WORDS}",
            }
            for number, (claim, text) in enumerate(draft.claims.items())
        ]
        said.append({"assessment": _WORD * REASON_WORDS, "claim_level_assessments": items})
    families = tuple(spec.family or spec.name for spec in people)
    return assembly.Opinions(draft, tuple(spec.name for spec in people), families, tuple(said))


def _divided() -> Consensus:
    details = {
        "position_distribution": {"support": 10, "oppose": 10, "uncertain": 10},
        "majority_position": "uncertain",
        "stable": False,
    }
    return Consensus(dict.fromkeys(CLAIM_IDS, 0.54), dict.fromkeys(CLAIM_IDS, details), MAJORITY_METHOD)
