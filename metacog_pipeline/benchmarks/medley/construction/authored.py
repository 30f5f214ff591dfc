"""The stages where instances are made: what is asked of designers, analysts and verifiers, and what must hold.

The sample's simulated people and a study's own models take the same steps. What they reply is kept as transcripts like any
other, so a step that is stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from metacog_pipeline.asking.types import Task
from metacog_pipeline.benchmark.contract import Check, Checked, Inputs, Made, Respondent, Role
from metacog_pipeline.benchmarks.medley.construction import asked, steps, tables
from metacog_pipeline.benchmarks.medley.construction.pipeline import INVARIANTS, Stage, finished, steps_of
from metacog_pipeline.benchmarks.medley.construction.roles import ANALYSTS, DESIGNERS, FIRST_SAMPLE, VERIFIERS
from metacog_pipeline.benchmarks.medley.construction.simulated_authors import (
    Person,
    SimulatedAuthor,
    read_sample,
)
from metacog_pipeline.llm.spec import ModelSpec

_ANSWERED = Check("Everybody has answered everything.")


# --- who is asked what ------------------------------------------------------------------------------------------------
def _role(name: str, who: str, tasks: Callable[[Any, Inputs], Sequence[Task]]) -> Role:
    """Return a role; its transcripts keep the name they always had."""
    return Role(
        name,
        models=lambda benchmark: benchmark.roles.people[who],
        tasks=lambda benchmark, spec, inputs: tasks(benchmark.author_words, inputs),
        respondent=lambda benchmark, spec: _respondent(benchmark, who, spec),
        worded_by=_words,
        incomplete_will_do=lambda benchmark: benchmark.incomplete_will_do,
    )


def _words(benchmark: Any) -> Any:
    return benchmark.author_words.digest


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
    lambda words, inputs: asked.designer_tasks(tables.seeds_of(inputs.frame("seeds")), words),
)
_RATE = _role(
    "pool", ANALYSTS, lambda words, inputs: asked.pool_tasks(tables.drafts_of(inputs.frame("drafts")), words)
)
_VERIFY = _role(
    "verification",
    VERIFIERS,
    lambda words, inputs: asked.verification_tasks(steps.to_verify(inputs.frame), words),
)


# --- the steps --------------------------------------------------------------------------------------------------------
def _asked(role: Role, step: Callable[[Any, steps.Frames, steps.Replies], Made]) -> Callable[..., Made]:
    """Return how a stage is made of what a role replied; it also says whether everybody has answered everything."""

    def make(benchmark: Any, inputs: Inputs) -> Made:
        said = asked.replies_of(benchmark, inputs, role, asked.CALLS[role.name])
        every = [bool(texts) for by_item in said.values() for texts in by_item.values()]
        answered, wanted = sum(every), len(every)
        made = step(benchmark, inputs.frame, said)
        whole = Checked(answered == wanted, {"answered": answered, "of": wanted})
        return replace(made, checks={"all_was_answered": whole, **made.checks})

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
    return finished(benchmark, whole, len(steps.left_out(inputs.frame)))


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
            "invariants_hold": INVARIANTS,
            "fit_to_be_released": Check("The gates a set must pass; a small one fails those on size."),
        },
        inputs=_words,
    ),
    items=Stage(_items, {"invariants_hold": INVARIANTS}),
)
