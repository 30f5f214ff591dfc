"""Writing instances in the layout of the published data, so that new ones can be read, checked and shared like those."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from metacog_pipeline.benchmarks.medley.construction.verification import majority_verdict
from metacog_pipeline.benchmarks.medley.items import DOMAINS, Instance
from metacog_pipeline.files import write_text


def write_set(
    folder: Path,
    instances: Sequence[Instance],
    verdicts: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    judges: Sequence[str] = (),
    *,
    probes: Mapping[str, Collection[str]] | None = None,
    difficulty: Mapping[str, str] | None = None,
) -> None:
    """Write a set that `published.read_set` reads back; files of the same names are replaced one by one.

    ``verdicts`` are {instance: {claim: one per judge}}, ``judges`` their names; a judge without a name is numbered.
    ``probes`` are {probe: instances that carry it}, ``difficulty`` {instance: tier}.
    """
    for domain in DOMAINS:
        chosen = [instance for instance in instances if instance.domain == domain]
        told = [
            {
                **_published(each),
                "difficulty_tier": (difficulty or {}).get(each.item_id),
                **{f"is_{probe}": each.item_id in names for probe, names in (probes or {}).items()},
            }
            for each in chosen
        ]
        _write(folder / "instances" / f"{domain}.json", told)
        _write(folder / "consensus" / f"{domain}.json", {each.item_id: _consensus(each) for each in chosen})
    known = {i.item_id: i.known_answer for i in instances if i.known_answer is not None}
    answers = {
        name: {"correct_answer": answer.correct_answer, "target_wrong_claim": answer.target_wrong_claim}
        for name, answer in known.items()
    }
    _write(folder / "known_answers.json", answers)
    wrong = {i.item_id: sorted(i.verified_wrong) for i in instances if i.verified_wrong}
    _write(folder / "consensus_verified_wrong.json", wrong)
    selection = {
        i.item_id: {"selected_models": list(i.selected_models)} for i in instances if i.selected_models
    }
    _write(folder / "selection_metadata.json", selection)
    _write(folder / "consensus_verification.json", _verification(instances, verdicts or {}, judges))


def _published(instance: Instance) -> dict[str, object]:
    claims = [
        {
            "claim_id": claim.claim_id,
            "claim_text": claim.claim_text,
            "majority_strength": claim.majority_strength,
            "jsd_score": claim.jsd_score,
        }
        for claim in instance.claims
    ]
    return {
        "instance_id": instance.item_id,
        "domain": instance.domain,
        "vignette": instance.vignette,
        "is_known_answer": instance.is_known_answer,
        "is_error_detection": instance.is_error_detection,
        "key_claims": claims,
        "ensemble_outputs": [
            {"model_id": each.model_id, "response": each.response} for each in instance.analysts
        ],
    }


def _consensus(instance: Instance) -> dict[str, object]:
    given = instance.consensus
    return {
        "method": given.method,
        "claim_confidences": given.claim_confidences,
        "claim_details": given.claim_details,
    }


def _verification(
    instances: Sequence[Instance], verdicts: Mapping[str, Mapping[str, Sequence[str]]], judges: Sequence[str]
) -> dict[str, object]:
    rows: dict[str, object] = {}
    for instance in instances:
        for claim, given in verdicts.get(instance.item_id, {}).items():
            if not given:
                continue
            names = [
                judges[place] if place < len(judges) else f"judge {place + 1}" for place in range(len(given))
            ]
            rows[f"{instance.item_id}_{claim}"] = {
                "instance_id": instance.item_id,
                "claim_id": claim,
                "consensus_val": instance.consensus.claim_confidences.get(claim),
                "judges": {name: {"verdict": verdict} for name, verdict in zip(names, given, strict=True)},
                "majority_verdict": majority_verdict(given),
                "is_ka": instance.is_known_answer,
            }
    return rows


def _write(path: Path, value: object) -> None:
    write_text(path, json.dumps(value, indent=2) + "\n")
