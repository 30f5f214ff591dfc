"""Reading a set of instances in the layout of the published data: a folder of JSON files.

``instances/<domain>.json`` is needed, for at least one domain; ``consensus/<domain>.json``, ``known_answers.json``,
``consensus_verified_wrong.json``, ``consensus_verification.json`` and ``selection_metadata.json`` are read where they
are there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.medley.construction.families import published_family
from metacog_pipeline.benchmarks.medley.construction.gates import Evidence
from metacog_pipeline.benchmarks.medley.construction.probes import PROBES
from metacog_pipeline.benchmarks.medley.construction.reading import read_json, read_object
from metacog_pipeline.benchmarks.medley.items import DOMAINS, Instance, instance_from_published
from metacog_pipeline.errors import SourceError

_VERIFIED = ("instance_id", "claim_id", "majority_verdict")


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """A set as published: ``instances`` domain by domain, in file order.

    By instance and claim: ``verdicts`` of its judges in the file's order, ``majority`` as the file names it, and
    ``verified_values``, the consensus that the judges were shown. ``selection`` is {instance: its entry in
    ``selection_metadata.json``}. In version 1.0 no instance stands in ``probes`` {probe: instances that carry its flag} or
    ``difficulty`` {instance: tier}.
    """

    instances: tuple[Instance, ...]
    verdicts: Mapping[str, Mapping[str, tuple[str, ...]]]
    majority: Mapping[str, Mapping[str, str]]
    verified_values: Mapping[str, Mapping[str, object]]
    selection: Mapping[str, Mapping[str, Any]]
    probes: Mapping[str, tuple[str, ...]]
    difficulty: Mapping[str, str]

    @property
    def evidence(self) -> Evidence:
        """What the files say of the set besides its instances, for the gates."""
        return Evidence(
            difficulty=self.difficulty,
            traps=self.probes["trap"],
            minimal_probes=self.probes["minimal_instruction"],
            verdicts=self.verdicts,
            families={a.model_id: published_family(a.model_id) for i in self.instances for a in i.analysts},
        )


def read_set(folder: Path, dataset: str = "published") -> PublishedSet:
    """Read a folder in the published layout.

    Raises SourceError for a folder without instances, or a file that is damaged or not of the published form.
    """
    if not folder.is_dir():
        raise SourceError(f"{folder}: no such folder; name one in the layout of the published data")
    wrong = _optional(folder / "consensus_verified_wrong.json")
    answers = _optional(folder / "known_answers.json")
    entries = _optional(folder / "selection_metadata.json").items()
    selection = {name: entry for name, entry in entries if isinstance(entry, dict)}
    instances: list[Instance] = []
    probes: dict[str, list[str]] = {probe: [] for probe in PROBES}
    difficulty: dict[str, str] = {}
    for domain in DOMAINS:
        path = folder / "instances" / f"{domain}.json"
        if not path.exists():
            continue
        consensus = _optional(folder / "consensus" / f"{domain}.json")
        for given in _list(read_json(path), str(path)):
            name = given.get("instance_id") if isinstance(given, dict) else None
            key = name if isinstance(name, str) else ""
            selected = selection.get(key, {}).get("selected_models", [])
            instances.append(
                instance_from_published(
                    given,
                    consensus.get(key),
                    verified_wrong=_list(wrong.get(key, []), f"{key} in consensus_verified_wrong.json"),
                    known_answer=answers.get(key),
                    selected_models=_list(selected, f"{key} in selection_metadata.json"),
                    dataset=dataset,
                    position=len(instances),
                )
            )
            for probe, names in probes.items():
                names += [key] if given.get(f"is_{probe}") is True else []
            if isinstance(given.get("difficulty_tier"), str):
                difficulty[key] = given["difficulty_tier"]
    if not instances:
        raise SourceError(
            f"{folder}: no instances/<domain>.json with instances; domains are {', '.join(DOMAINS)}"
        )
    for name, times in Counter(instance.item_id for instance in instances).items():
        if times > 1:
            raise SourceError(f"{folder}: instance {name!r} is given twice; each id stands for one case")
    verdicts, majority, values = _verification(folder / "consensus_verification.json")
    drawn = {probe: tuple(names) for probe, names in probes.items()}
    return PublishedSet(tuple(instances), verdicts, majority, values, selection, drawn, difficulty)


def _verification(path: Path) -> tuple[dict[str, dict[str, Any]], ...]:
    """Return verdicts of the judges, the one named as that of the majority, and the value shown: by instance and claim."""
    found: tuple[dict[str, dict[str, Any]], ...] = ({}, {}, {})
    for key, row in _optional(path).items():
        judges = row.get("judges") if isinstance(row, dict) else None
        names = [row.get(part) for part in _VERIFIED] if isinstance(judges, dict) and judges else []
        if not isinstance(judges, dict) or not names or not all(isinstance(name, str) for name in names):
            raise SourceError(
                f"{path}: {key!r} is not a verification (instance_id, claim_id, judges, majority_verdict); mend the file"
            )
        name, claim, majority = names
        said = (judge.get("verdict") if isinstance(judge, dict) else None for judge in judges.values())
        told = (tuple(map(str, said)), majority, row.get("consensus_val"))
        for kept, value in zip(found, told, strict=True):
            kept.setdefault(name, {})[claim] = value
    return found


def _optional(path: Path) -> dict[str, Any]:
    return read_object(path) if path.exists() else {}


def _list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise SourceError(f"{where}: expected a JSON array, got {type(value).__name__}; replace the file")
    return value
