"""What must hold for the stages that make new instances, and what of it stops the next stage."""

from __future__ import annotations

from collections.abc import Mapping

ANSWERED = ("all_was_answered", "Everybody has answered everything.", False)
#: Stage → its checks: name, what it says, whether a failure keeps the next stage from running.
CHECKS: Mapping[str, tuple[tuple[str, str, bool], ...]] = {
    "medley_seeds": (("every_domain_has_seeds", "All five domains have seeds.", False),),
    "medley_designs": (
        ANSWERED,
        ("every_seed_has_a_design", "A case that can be read for every seed.", False),
    ),
    "medley_drafts": (
        ("five_different_claims", "Five claims, no two alike.", True),
        ("two_to_four_hundred_words", "Cases are as long as they should be.", False),
        ("every_seed_has_a_draft", "No seed went without a case.", False),
    ),
    "medley_opinions": (
        ANSWERED,
        ("labels_in_vocabulary", "Every label is one of the five words.", True),
        ("five_ratings_per_analyst", "Whoever can be read rates exactly the five claims.", True),
        ("replies_can_be_read", "Every analyst can be read about every case.", False),
        ("every_draft_was_judged", "Somebody can be read about every case.", False),
    ),
    "medley_disagreement": (
        ("within_its_range", "Between full agreement and five labels equally often.", True),
        ("five_claims_each", "Every claim of every case, once.", True),
        ("something_is_open", "Some case is open enough.", True),
    ),
    "medley_consensus": (
        ("one_on_every_claim", "A consensus on every claim of every case kept.", True),
        ("within_zero_and_one", "Confidences are shares.", True),
    ),
    "medley_panels": (
        ("eight_analysts", "Eight analysts, or all where the pool is smaller.", True),
        (
            "at_most_two_per_family",
            "No panel is of one family; the rule gives way where nobody else is left.",
            False,
        ),
        ("all_of_them_could_be_read", "Nobody is shown whose reply could not be read.", False),
    ),
    "medley_verification": (
        ANSWERED,
        ("three_verdicts_on_every_claim", "Each judge has a verdict on each claim.", False),
    ),
    "medley_gates": (
        ("invariants_hold", "Five claims, a panel, a consensus that names the same claims.", True),
        ("fit_to_be_released", "The gates a set must pass; a small one fails those on size.", False),
    ),
}


def blocking(stage: str) -> frozenset[str]:
    """Return the names of the checks of a stage that must hold before the next one runs."""
    return frozenset(name for name, _, blocks in CHECKS[stage] if blocks)
