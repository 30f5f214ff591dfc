"""Sets in the published layout, and the construction of instances that bring a whole pool of analysts.

``instances/<domain>.json`` is needed, for at least one domain; ``consensus/<domain>.json``, ``known_answers.json``,
``consensus_verified_wrong.json``, ``consensus_verification.json``, ``selection_metadata.json`` and ``metadata.json`` are
read where they are there. An instance with an entry in ``consensus`` is taken as given. One without is constructed: its
``ensemble_outputs`` are the pool (``family`` names who made an analyst), from which follow disagreement, a jackknifed
consensus and a panel of eight, in view of the verdicts in ``consensus_verification.json``.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.medley import sources
from metacog_pipeline.benchmarks.medley.construction import pool as ratings
from metacog_pipeline.benchmarks.medley.items import DOMAINS, Claim, Instance, instance_from_published
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.sources import read_bytes

MAX_BYTES = 64 * 1024**2  # of one file
PROBES = ("trap", "minimal_instruction")
# The first part that occurs in the last part of a model's name decides, so the special ones come first.
_FAMILIES = {
    **{"medgemma": "medgemma", "gemini-design": "design", "gemma": "gemma", "gemini": "gemini"},
    **{"gpt-oss": "gpt_oss", "claude": "claude", "deepseek": "deepseek"},
    **dict.fromkeys(("devstral", "magistral", "ministral", "mistral"), "mistral"),
    **{name: name for name in ("glm", "llama", "minimax", "nemotron", "qwen")},
}
UNKNOWN = "unknown"


# The judges' verdicts on the consensus on a claim, in their order, and the one that the file calls the majority's.
Verified = tuple[tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class GivenSet:
    """A set; its instances are domain by domain, in file order."""

    instances: tuple[Instance, ...]
    verification: Mapping[str, Mapping[str, Verified]] = field(default_factory=dict)  # by instance and claim
    selection: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by instance
    families: Mapping[str, str] = field(default_factory=dict)  # by analyst
    probes: Mapping[str, Sequence[str]] = field(default_factory=dict)  # instances
    difficulty: Mapping[str, str] = field(default_factory=dict)  # by instance
    prompt_versions: Sequence[str] = ()
    constructed: frozenset[str] = frozenset()  # instances made here from a pool


def published_family(model_id: str) -> str:
    """Return the family of a published analyst by its name; ``unknown`` for a name of none of them."""
    name = model_id.rsplit("/", 1)[-1].lower()
    return next((family for part, family in _FAMILIES.items() if part in name), UNKNOWN)


def read_set(folder: Path, dataset: str = "published") -> GivenSet:
    """Read a folder in the published layout; SourceError for one without instances, or a file that is damaged."""
    names = ("consensus_verified_wrong", "known_answers", "selection_metadata", "metadata")
    wrong, answers, chosen, metadata = (_json(folder / f"{name}.json") for name in names)
    selection = {name: entry for name, entry in chosen.items() if isinstance(entry, dict)}
    verification = _verification(folder / "consensus_verification.json")
    instances: list[Instance] = []
    probes: dict[str, list[str]] = {probe: [] for probe in PROBES}
    families, difficulty, constructed = {}, {}, set()
    for domain in DOMAINS:
        consensus = _json(folder / "consensus" / f"{domain}.json")
        for entry in _json(folder / "instances" / f"{domain}.json", list):
            key = str(entry.get("instance_id")) if isinstance(entry, dict) else ""
            instance = instance_from_published(
                entry, consensus.get(key), verified_wrong=wrong.get(key, []), known_answer=answers.get(key),
                selected_models=selection.get(key, {}).get("selected_models", []), dataset=dataset,
                position=len(instances),
            )  # fmt: skip
            for output in entry.get("ensemble_outputs") or ():
                name = output["model_id"]
                families[name] = str(output.get("family") or published_family(name))
            if key not in consensus and instance.analysts:
                instance = construct(instance, families, verification.get(key, {}))
                constructed.add(key)
            instances.append(instance)
            for probe, given in probes.items():
                given += [key] if entry.get(f"is_{probe}") is True else []
            if isinstance(entry.get("difficulty_tier"), str):
                difficulty[key] = entry["difficulty_tier"]
    if not instances:
        told = f"no instances/<domain>.json with instances; domains are {', '.join(DOMAINS)}"
        raise SourceError(f"{folder}: {told}")
    name, times = Counter(instance.item_id for instance in instances).most_common(1)[0]
    if times > 1:
        raise SourceError(f"{folder}: instance {name!r} is given twice; each id means one case")
    versions = metadata.get("prompt_versions")
    return GivenSet(
        tuple(instances), verification, selection, families, probes, difficulty,
        versions if isinstance(versions, list) else (), frozenset(constructed),
    )  # fmt: skip


def construct(instance: Instance, families: Mapping[str, str], verified: Mapping[str, Verified]) -> Instance:
    """Return the instance with disagreement, consensus and panel made from its analysts, who are the whole pool."""
    claims, names = ([c.claim_id for c in instance.claims], [a.model_id for a in instance.analysts])
    labels = [ratings.rated_labels(each.response, claims) or None for each in instance.analysts]
    pool = [ratings.Candidate(name, families[name], own) for name, own in zip(names, labels, strict=True)]
    table = ratings.ranks(labels, claims)
    consensus = ratings.jackknife_majority(table, claims)
    verdicts = {claim: given for claim, (given, _) in verified.items()}
    verified_as = ratings.verified_claims(consensus, verdicts)
    chosen = ratings.select(ratings.Pool(pool, verified_as, claims)).selected_models
    counts = ratings.counts_of(table, ratings.SCALE)
    raters, jsd = counts.sum(axis=1).tolist(), ratings.disagreement(counts).tolist()
    made = tuple(map(Claim, claims, [claim.claim_text for claim in instance.claims], raters, jsd))
    shown = tuple(each for each in instance.analysts if each.model_id in chosen)
    wrong = frozenset(claim for claim, said in verdicts.items() if ratings.is_wrong(said))
    told = {"consensus": consensus, "verified_wrong": wrong, "selected_models": chosen}
    return instance.changed(claims=made, analysts=shown, **told)


def _verification(path: Path) -> dict[str, dict[str, Verified]]:
    found: dict[str, dict[str, Verified]] = {}
    for key, row in _json(path).items():
        try:
            verdicts = tuple(str(judge["verdict"]) for judge in row["judges"].values())
            claims = found.setdefault(row["instance_id"], {})
            claims[row["claim_id"]] = (verdicts, row["majority_verdict"])
        except (TypeError, KeyError, AttributeError):
            why = "is not a verification (instance_id, claim_id, judges, majority_verdict); repair the file"
            raise SourceError(f"{path}: {key!r} {why}") from None
    return found


def _json(path: Path, kind: type = dict) -> Any:
    if not path.exists():
        return kind()
    try:
        value = json.loads(read_bytes(path, MAX_BYTES).decode("utf-8-sig"))
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # half a pair of surrogates is JSON but no text
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: not UTF-8 text of JSON ({error}); replace the file") from None
    if not isinstance(value, kind):
        raise SourceError(f"{path}: expected {kind.__name__}, got {type(value).__name__}; replace the file")
    return value


def folder_of(benchmark: Any) -> Path:
    """Return the folder of a study's set."""
    if benchmark.settings.dataset == "sample":
        return shipped("data", "medley", "sample")
    named = benchmark.settings.folder
    return sources.load_source(benchmark.study.home) if named is None else benchmark.study.beside(named)


def digest(benchmark: Any) -> str | None:
    """Return the SHA-256 of what the instances are read from; None for a source that is not home yet."""
    if benchmark.settings.dataset == "published":
        return sources.kept_digest(benchmark.study.home)
    folder = folder_of(benchmark)
    files = sorted(path for path in folder.rglob("*.json") if path.is_file())
    contents = {p.relative_to(folder).as_posix(): sha256_hex(p.read_bytes()) for p in files}
    return sha256_hex(canonical_json(contents))


_read = functools.lru_cache(maxsize=2)(lambda place, dataset, digest: read_set(place, dataset))


def given(benchmark: Any) -> GivenSet:
    """Return a study's set, read once for each version of its files."""
    found: GivenSet = _read(folder_of(benchmark), benchmark.settings.dataset, digest(benchmark))
    return found
