"""What of the published construction follows from the published data, and what cannot follow, with the reason.

Every line counts how many of the published values this package makes again from their own inputs. Where the inputs were
not published, the line says how far the data at hand lead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from metacog_pipeline.benchmarks.medley.construction.consensus import (
    PUBLISHED_VALUES,
    label_median,
    leave_one_out_median,
)
from metacog_pipeline.benchmarks.medley.construction.disagreement import counts_behind, disagreement
from metacog_pipeline.benchmarks.medley.construction.families import published_family
from metacog_pipeline.benchmarks.medley.construction.published import PublishedSet
from metacog_pipeline.benchmarks.medley.construction.ratings import (
    SCALE,
    label_counts,
    rank,
    ranks,
    rated_labels,
)
from metacog_pipeline.benchmarks.medley.construction.selection import Candidate, Pool, Selection, greedy_order
from metacog_pipeline.benchmarks.medley.construction.tables import PARTS
from metacog_pipeline.benchmarks.medley.construction.verification import (
    AGREE,
    is_wrong,
    majority_verdict,
    strict_verdict,
)
from metacog_pipeline.benchmarks.medley.items import Claim, Instance

CLOSE = 1e-9
_DECIMALS = 4
_PAIR = 2  # are chosen at once: before the third there is no order to follow
_SCORES = ("score", "diversity_score", "coverage_score", "family_score", "quality_score")


@dataclass(frozen=True, slots=True)
class Line:
    """One published quantity: how many of its values were made again, and what to know about the others."""

    what: str
    matched: int
    total: int
    note: str = ""

    def render(self) -> str:
        """Return one printable line."""
        return f"{self.what}: {self.matched} of {self.total}{'; ' + self.note if self.note else ''}"


def reproduction_report(published: PublishedSet) -> list[Line]:
    """Return what can be made again of a published set, in the order of the construction.

    The notes explain what version 1.0 cannot yield; the counts are computed from the set that is given.
    """
    claims = [(instance, claim) for instance in published.instances for claim in instance.claims]
    selected = [
        panel_again(each, published.selection[each.item_id])
        for each in published.instances
        if each.item_id in published.selection
    ]
    again: list[tuple[str, list[bool], str]] = [
        ("disagreement from label counts", [follows_from_counts(c) for _, c in claims], "counts"),
        ("disagreement from the analysts shown", [_shown(i, c) for i, c in claims], "pool"),
        ("consensus, every field", [consensus_follows(i, c) for i, c in claims], "consensus"),
        ("selection scores", [each.scores for each in selected], "scores"),
        ("analysts shown are those selected", [each.analysts for each in selected], ""),
        ("order of selection", [each.order for each in selected], "order"),
    ]
    made = [Line(what, sum(held), len(held), _NOTES.get(note, "")) for what, held, note in again]
    return [*made, *_verification(published)]


_NOTES = {
    "counts": "exactly one set of five counts with the stated number of raters gives each value",
    "pool": "the raters are the whole pool, whose answers are not published",
    "consensus": "by the upper median of the labels of the analysts shown; nothing in it is a jackknife",
    "scores": "score, four parts, positions, families and the firmly wrong analyst; quality is 0.5 throughout",
    "order": "greedy within the set shown; in the others the last step put in the only firmly wrong analyst",
    "values": "equal to the published consensus; they come from an earlier pool that is not published",
    "strict": "two of three judges agreeing, the rule of the paper, where ties do not go to the first judge",
    "again": "mean of the medians that remain when each analyst shown is left out, of 0.1, 0.25, 0.5, 0.75 and 0.9",
    "majority": "the consensus the paper describes; no published value is of this kind, and the pool is not published",
    "wrong": "claims listed as wrong on which at least two judges disagree; the rule behind the list is not known",
}


def follows_from_counts(claim: Claim) -> bool:
    """Whether exactly one set of five counts with the stated number of raters gives the disagreement."""
    if claim.jsd_score is None or claim.n_rated is None:
        return False
    return len(counts_behind(claim.jsd_score, int(claim.n_rated))) == 1


def _shown(instance: Instance, claim: Claim) -> bool:
    table = ranks([rated_labels(each.response) for each in instance.analysts], [claim.claim_id])
    value = float(disagreement(label_counts(table))[0])
    return claim.n_rated is not None and _close(value, claim.jsd_score)


def consensus_follows(instance: Instance, claim: Claim) -> bool:
    """Whether every field of the consensus on a claim is the upper median of the labels of the analysts shown."""
    name, given = claim.claim_id, instance.consensus
    again = label_median([rated_labels(each.response) for each in instance.analysts], [name])
    return (
        again.method == given.method
        and again.claim_confidences[name] == given.claim_confidences.get(name)
        and again.claim_details[name] == given.claim_details.get(name)
    )


class PanelAgain(NamedTuple):
    """The analysts shown with an instance as a choice that is made again.

    ``scores``: whether score, parts, positions, families and the firmly wrong analyst are those published; ``analysts``:
    whether those shown are those selected; ``order``: whether the greedy steps would have chosen them in the published
    order; ``why``: what explains that order, "" where nothing at hand does.
    """

    found: Selection
    scores: bool
    analysts: bool
    order: bool
    why: str


def panel_again(instance: Instance, entry: Mapping[str, Any]) -> PanelAgain:
    """Choose again from the analysts shown, on the claims of the published summary, compared to the last bit."""
    summary = entry.get("position_summary")
    claims = list(summary) if isinstance(summary, dict) else [claim.claim_id for claim in instance.claims]
    shown = [
        Candidate(each.model_id, published_family(each.model_id), rated_labels(each.response, claims))
        for each in instance.analysts
    ]
    pool = Pool(shown, claim_ids=claims, tolerance=0.0)
    found = pool.summary(range(len(shown)), len(shown))
    numbers = (round(getattr(found.scores, part), _DECIMALS) for part in PARTS)
    scores = (
        all(_close(number, entry.get(name)) for number, name in zip(numbers, _SCORES, strict=True))
        and found.strong_wrong_included == entry.get("strong_wrong_included")
        and found.family_counts == entry.get("family_counts")
        and found.position_summary == entry.get("position_summary")
    )
    same = {each.model_id for each in shown} == set(instance.selected_models)
    ordered = greedy_order(pool, range(len(shown)), len(shown)) == instance.selected_models
    why = "greedy" if ordered else _order_explained(pool, instance.selected_models)
    return PanelAgain(found, scores, same, ordered, why)


def _order_explained(pool: Pool, selected: tuple[str, ...]) -> str:
    """Say why analysts do not stand in the order of the greedy steps; "" where nothing at hand explains it.

    Where nobody chosen is firmly wrong, the last step of the choice puts the one who is into the place of another. So
    where exactly one is, the greedy steps lead as far as that place, and the one who stood there is not published.
    """
    names = [each.model_id for each in pool.candidates]
    chosen = [names.index(name) for name in selected if name in names]
    wrong = [place for place, which in enumerate(chosen) if pool.is_strong_wrong(which)]
    if len(chosen) != len(names) or len(wrong) != 1:
        return ""
    before = greedy_order(pool, chosen, len(names))[: wrong[0]]
    if wrong[0] >= _PAIR and before != selected[: wrong[0]]:
        return ""
    return f"{selected[wrong[0]]}, alone firmly wrong, was put in at place {wrong[0] + 1}"


def _verification(published: PublishedSet) -> list[Line]:
    by_id = {instance.item_id: instance for instance in published.instances}
    rows = [
        (
            by_id.get(name),
            claim,
            said,
            published.majority[name][claim],
            published.verified_values[name][claim],
        )
        for name, claims in published.verdicts.items()
        for claim, said in claims.items()
    ]
    listed = [said for each, claim, said, _, _ in rows if each and claim in each.verified_wrong]
    agreed = sum(strict_verdict(said) == AGREE for _, _, said, _, _ in rows)
    stated = sum(verdict == AGREE for _, _, _, verdict, _ in rows)
    majority = sum(majority_verdict(said) == verdict for _, _, said, verdict, _ in rows)
    same = sum(
        each is not None and _close(value, each.consensus.claim_confidences.get(claim))
        for each, claim, _, _, value in rows
    )
    left_out = sum(
        _close(value, leave_one_out_median(_numbers(each, claim))) for each, claim, _, _, value in rows
    )
    every = len(rows)
    return [
        Line("majority verdict", majority, every),
        Line(
            "agreed by the paper's strict rule", agreed, every, f"{stated} by the file's; {_NOTES['strict']}"
        ),
        Line("claims listed as wrong", sum(map(is_wrong, listed)), len(listed), _NOTES["wrong"]),
        Line("consensus values of the verification", same, every, _NOTES["values"]),
        Line("the same, left out in turn among those shown", left_out, every, _NOTES["again"]),
        Line("majority of the pool kept under every deletion", 0, 0, _NOTES["majority"]),
    ]


def _numbers(instance: Instance | None, claim: str) -> list[float]:
    rated = [rated_labels(each.response) for each in instance.analysts] if instance else []
    return [PUBLISHED_VALUES[SCALE[rank(labels[claim])]] for labels in rated if claim in labels]


def _close(one: object, other: object) -> bool:
    return isinstance(one, int | float) and isinstance(other, int | float) and abs(one - other) <= CLOSE
