"""From a draft and what the pool said of it to an instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metacog_pipeline.benchmarks.medley.construction.consensus import jackknife_majority
from metacog_pipeline.benchmarks.medley.construction.disagreement import Floats, disagreement
from metacog_pipeline.benchmarks.medley.construction.drafts import Draft
from metacog_pipeline.benchmarks.medley.construction.ratings import (
    Ranks,
    label_counts,
    position_counts,
    ranks,
    rated_labels,
)
from metacog_pipeline.benchmarks.medley.construction.selection import (
    PANEL,
    Candidate,
    Pool,
    Selection,
    select,
)
from metacog_pipeline.benchmarks.medley.construction.verification import wrong_claims
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, Analyst, Claim, Consensus, Instance


@dataclass(frozen=True, slots=True)
class Opinions:
    """What the whole pool said of one draft.

    Attributes
    ----------
    models, families
        Of each analyst, in the order of the pool.
    responses
        The parsed reply of each; None where none could be read.
    """

    draft: Draft
    models: tuple[str, ...]
    families: tuple[str, ...]
    responses: tuple[dict[str, Any] | None, ...]

    @property
    def table(self) -> Ranks:
        """(analysts, 5) ranks of their labels; -1 where there is none."""
        return ranks([each.labels for each in self.candidates], CLAIM_IDS)

    @property
    def candidates(self) -> list[Candidate]:
        """The analysts as the selection sees them."""
        return [
            Candidate(model, family, None if said is None else rated_labels(said, CLAIM_IDS))
            for model, family, said in zip(self.models, self.families, self.responses, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Facts:
    """Per claim, kept apart: how many rated it, which share the largest position has, and how much they disagree."""

    n_rated: tuple[int, ...]
    majority_share: tuple[float, ...]
    jsd: Floats


def facts(opinions: Opinions) -> Facts:
    """Return what the pool's labels say of each claim."""
    table = opinions.table
    tally = position_counts(table)
    rated = tally.sum(axis=1)
    return Facts(
        tuple(int(n) for n in rated),
        tuple(float(row.max() / n) if n else 0.0 for row, n in zip(tally, rated, strict=True)),
        disagreement(label_counts(table)),
    )


def pool_consensus(opinions: Opinions) -> Consensus:
    """Return the consensus of the whole pool, kept only where it survives every deletion of one analyst."""
    return jackknife_majority(opinions.table, CLAIM_IDS)


def panel(opinions: Opinions, verified: Mapping[str, str] | None = None, size: int = PANEL) -> Selection:
    """Return the analysts to be shown; ``verified`` says of claims whether they are right, see `verification`."""
    return select(Pool(opinions.candidates, verified, CLAIM_IDS), size)


def assemble(
    opinions: Opinions,
    consensus: Consensus,
    selection: Selection,
    verdicts: Mapping[str, Sequence[str]] | None = None,
    *,
    dataset: str,
    position: int = 0,
) -> Instance:
    """Return the instance: the chosen analysts stand in the order of the pool, their selection order beside them.

    ``verdicts`` are those of the three judges by claim; a claim on which two disagree counts as wrong.
    """
    draft, measured = opinions.draft, facts(opinions)
    claims = tuple(
        Claim(claim, text, n, float(jsd))
        for (claim, text), n, jsd in zip(draft.claims.items(), measured.n_rated, measured.jsd, strict=True)
    )
    shown = tuple(
        Analyst(model, said or {})
        for model, said in zip(opinions.models, opinions.responses, strict=True)
        if model in selection.selected_models
    )
    return Instance(
        item_id=draft.draft_id,
        domain=draft.domain,
        vignette=draft.vignette,
        is_known_answer=draft.known_answer is not None,
        is_error_detection=draft.is_error_detection,
        claims=claims,
        analysts=shown,
        consensus=consensus,
        verified_wrong=wrong_claims(verdicts or {}),
        known_answer=draft.known_answer,
        selected_models=selection.selected_models,
        dataset=dataset,
        position=position,
    )


def numbered(instances: Sequence[Instance]) -> list[Instance]:
    """Return the instances with their places in the set as positions."""
    return [instance.changed(position=place) for place, instance in enumerate(instances)]
