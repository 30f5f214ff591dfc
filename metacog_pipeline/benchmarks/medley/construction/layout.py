"""Writing instances in the layout of the published data, so that new ones can be read, checked and shared like those."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.medley.construction.verification import majority_verdict
from metacog_pipeline.benchmarks.medley.items import DOMAINS, Instance
from metacog_pipeline.files import write_text


def write_set(
    folder: Path,
    instances: Sequence[Instance],
    verdicts: Mapping[str, Mapping[str, Sequence[str]]],
    judges: Sequence[str],
    *,
    probes: Mapping[str, Collection[str]],
    difficulty: Mapping[str, str],
) -> None:
    """Write a set that `published.read_set` reads back; files of the same names are replaced one by one.

    ``verdicts`` are {instance: {claim: one per judge}}, ``judges`` their names; a judge without a name is numbered.
    ``probes`` are {probe: instances that carry it}, ``difficulty`` {instance: tier}.
    """
    contents: dict[str, Any] = {}
    for domain in DOMAINS:
        chosen = [instance for instance in instances if instance.domain == domain]
        contents[f"instances/{domain}"] = [
            {
                **_published(each),
                "difficulty_tier": difficulty.get(each.item_id),
                **{f"is_{probe}": each.item_id in names for probe, names in probes.items()},
            }
            for each in chosen
        ]
        contents[f"consensus/{domain}"] = {each.item_id: _consensus(each) for each in chosen}
    parts = {
        "known_answers": {i.item_id: asdict(i.known_answer) for i in instances if i.known_answer is not None},
        "consensus_verified_wrong": {
            i.item_id: sorted(i.verified_wrong) for i in instances if i.verified_wrong
        },
        "selection_metadata": {
            i.item_id: {"selected_models": i.selected_models} for i in instances if i.selected_models
        },
        "consensus_verification": _verification(instances, verdicts, judges),
    }
    for name, value in {**contents, **parts}.items():
        write_text(folder / f"{name}.json", json.dumps(value, indent=2) + "\n")


def _published(instance: Instance) -> dict[str, object]:
    return {
        "instance_id": instance.item_id,
        "domain": instance.domain,
        "vignette": instance.vignette,
        "is_known_answer": instance.is_known_answer,
        "is_error_detection": instance.is_error_detection,
        "key_claims": [asdict(claim) for claim in instance.claims],
        "ensemble_outputs": [asdict(analyst) for analyst in instance.analysts],
    }


def _consensus(instance: Instance) -> dict[str, object]:
    given = asdict(instance.consensus)
    return {"method": given.pop("method"), **given}


def _verification(
    instances: Sequence[Instance], verdicts: Mapping[str, Mapping[str, Sequence[str]]], judges: Sequence[str]
) -> dict[str, object]:
    rows: dict[str, object] = {}
    for instance in instances:
        for claim, given in verdicts.get(instance.item_id, {}).items():
            if not given:
                continue
            names = [*judges, *(f"judge {place + 1}" for place in range(len(judges), len(given)))]
            rows[f"{instance.item_id}_{claim}"] = {
                "instance_id": instance.item_id,
                "claim_id": claim,
                "consensus_val": instance.consensus.claim_confidences.get(claim),
                "judges": {name: {"verdict": said} for name, said in zip(names, given, strict=False)},
                "majority_verdict": majority_verdict(given),
                "is_ka": instance.is_known_answer,
            }
    return rows
