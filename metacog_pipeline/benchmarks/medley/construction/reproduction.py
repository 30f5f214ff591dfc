"""What of the published construction follows from the published data, and what cannot follow, with the reason.

Every line counts how many of the published values this package makes again from their own inputs. Where the inputs were
not published, the line says how far the data at hand lead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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
from metacog_pipeline.benchmarks.medley.construction.verification import (
    AGREE,
    is_wrong,
    majority_verdict,
    strict_verdict,
)
from metacog_pipeline.benchmarks.medley.items import Instance

CLOSE = 1e-9
_DECIMALS = 4
_PAIR = 2  # are chosen at once: before the third there is no order to follow
_SCORES = ("score", "diversity_score", "coverage_score", "family_score", "quality_score")
_PARTS = ("total", "diversity", "coverage", "family", "quality")


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
    instances = published.instances
    claims = [(instance, place) for instance in instances for place in range(len(instance.claims))]
    selected = [(i, published.selection[i.item_id]) for i in instances if i.item_id in published.selection]
    of_claims = (
        ("disagreement from label counts", follows_from_counts, "counts"),
        ("disagreement from the analysts shown", _shown, "pool"),
        ("consensus, every field", consensus_follows, "consensus"),
    )
    of_panels = (
        ("selection scores", scores_follow, "scores"),
        ("analysts shown are those selected", lambda instance, _: same_analysts(instance), ""),
        ("order of selection", order_follows, "order"),
    )
    return [
        *(
            Line(what, sum(holds(*each) for each in claims), len(claims), _NOTES[note])
            for what, holds, note in of_claims
        ),
        *(
            Line(what, sum(holds(*each) for each in selected), len(selected), _NOTES.get(note, ""))
            for what, holds, note in of_panels
        ),
        *_verification(published),
    ]


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


def follows_from_counts(instance: Instance, place: int) -> bool:
    """Whether exactly one set of five counts with the stated number of raters gives the disagreement."""
    claim = instance.claims[place]
    if claim.jsd_score is None or claim.n_rated is None:
        return False
    return len(counts_behind(claim.jsd_score, int(claim.n_rated))) == 1


def _shown(instance: Instance, place: int) -> bool:
    claim = instance.claims[place]
    table = ranks([rated_labels(each.response) for each in instance.analysts], [claim.claim_id])
    value = float(disagreement(label_counts(table))[0])
    return claim.jsd_score is not None and claim.n_rated is not None and abs(value - claim.jsd_score) <= CLOSE


def consensus_follows(instance: Instance, place: int) -> bool:
    """Whether every field of the consensus on a claim is the upper median of the labels of the analysts shown."""
    claim = instance.claims[place].claim_id
    again = label_median([rated_labels(each.response) for each in instance.analysts], [claim])
    given = instance.consensus
    return (
        again.method == given.method
        and again.claim_confidences[claim] == given.claim_confidences.get(claim)
        and again.claim_details[claim] == given.claim_details.get(claim)
    )


def _pool(instance: Instance, entry: Mapping[str, Any]) -> Pool:
    """Return the analysts shown as a pool, on the claims of the published summary, compared to the last bit."""
    summary = entry.get("position_summary")
    claims = list(summary) if isinstance(summary, dict) else [claim.claim_id for claim in instance.claims]
    shown = [
        Candidate(each.model_id, published_family(each.model_id), rated_labels(each.response, claims))
        for each in instance.analysts
    ]
    return Pool(shown, claim_ids=claims, tolerance=0.0)


def panel_of(instance: Instance, entry: Mapping[str, Any]) -> Selection:
    """Return the analysts shown as a choice that is scored again."""
    return _pool(instance, entry).summary(range(len(instance.analysts)), len(instance.analysts))


def scores_follow(instance: Instance, entry: Mapping[str, Any]) -> bool:
    """Whether score, parts, positions, families and the firmly wrong analyst are those published."""
    found = panel_of(instance, entry)
    numbers = (round(getattr(found.scores, part), _DECIMALS) for part in _PARTS)
    return (
        all(_close(number, entry.get(name)) for number, name in zip(numbers, _SCORES, strict=True))
        and found.strong_wrong_included == entry.get("strong_wrong_included")
        and found.family_counts == entry.get("family_counts")
        and found.position_summary == entry.get("position_summary")
    )


def same_analysts(instance: Instance) -> bool:
    """Whether the analysts shown are those selected."""
    return {each.model_id for each in instance.analysts} == set(instance.selected_models)


def order_follows(instance: Instance, entry: Mapping[str, Any]) -> bool:
    """Whether the greedy steps would have chosen the analysts shown in the published order."""
    pool = _pool(instance, entry)
    return greedy_order(pool, range(len(pool.candidates)), len(pool.candidates)) == instance.selected_models


def order_explained(instance: Instance, entry: Mapping[str, Any]) -> str:
    """Say why analysts stand in the published order; "" where nothing at hand explains it.

    Where nobody chosen is firmly wrong, the last step of the choice puts the one who is into the place of another. So
    where exactly one is, the greedy steps lead as far as that place, and the one who stood there is not published.
    """
    if order_follows(instance, entry):
        return "greedy"
    pool = _pool(instance, entry)
    names = [each.model_id for each in pool.candidates]
    chosen = [names.index(name) for name in instance.selected_models if name in names]
    wrong = [place for place, which in enumerate(chosen) if pool.is_strong_wrong(which)]
    if len(chosen) != len(names) or len(wrong) != 1:
        return ""
    before = greedy_order(pool, chosen, len(names))[: wrong[0]]
    if wrong[0] >= _PAIR and before != instance.selected_models[: wrong[0]]:
        return ""
    return f"{instance.selected_models[wrong[0]]}, alone firmly wrong, was put in at place {wrong[0] + 1}"


def _verification(published: PublishedSet) -> list[Line]:
    rows = [
        (given, published.majority[name][claim], claim in wrong.get(name, ()))
        for wrong in [{i.item_id: i.verified_wrong for i in published.instances}]
        for name, claims in published.verdicts.items()
        for claim, given in claims.items()
    ]
    listed = [given for given, _, is_listed in rows if is_listed]
    agreed = sum(strict_verdict(given) == AGREE for given, _, _ in rows)
    named = sum(verdict == AGREE for _, verdict, _ in rows)
    return [
        Line("majority verdict", sum(majority_verdict(g) == v for g, v, _ in rows), len(rows)),
        Line(
            "agreed by the paper's strict rule",
            agreed,
            len(rows),
            f"{named} by the file's; {_NOTES['strict']}",
        ),
        Line("claims listed as wrong", sum(map(is_wrong, listed)), len(listed), _NOTES["wrong"]),
        Line("consensus values of the verification", _same_values(published), len(rows), _NOTES["values"]),
        Line(
            "the same, left out in turn among those shown",
            _left_out_values(published),
            len(rows),
            _NOTES["again"],
        ),
        Line("majority of the pool kept under every deletion", 0, 0, _NOTES["majority"]),
    ]


def _same_values(published: PublishedSet) -> int:
    given = {i.item_id: i.consensus.claim_confidences for i in published.instances}
    return sum(
        _close(value, given.get(name, {}).get(claim))
        for name, claims in published.verified_values.items()
        for claim, value in claims.items()
    )


def _left_out_values(published: PublishedSet) -> int:
    shown = {i.item_id: [rated_labels(each.response) for each in i.analysts] for i in published.instances}
    return sum(
        _close(value, leave_one_out_median(_numbers(shown.get(name, []), claim)))
        for name, claims in published.verified_values.items()
        for claim, value in claims.items()
    )


def _numbers(rated: Iterable[Mapping[str, str]], claim: str) -> list[float]:
    return [PUBLISHED_VALUES[SCALE[rank(labels[claim])]] for labels in rated if claim in labels]


def _close(one: object, other: object) -> bool:
    return isinstance(one, int | float) and isinstance(other, int | float) and abs(one - other) <= CLOSE
