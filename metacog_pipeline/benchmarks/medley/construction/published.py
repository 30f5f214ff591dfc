"""Sets in the published layout: reading and writing them, and the stages that construct again what is given.

``instances/<domain>.json`` is needed, for at least one domain; ``consensus/<domain>.json``, ``known_answers.json``,
``consensus_verified_wrong.json``, ``consensus_verification.json`` and ``selection_metadata.json`` are read where they
are there. The choices themselves are taken as given; checks and `reproduction_report` say how many follow from the data.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from metacog_pipeline.benchmark.contract import Checked, Inputs, Made
from metacog_pipeline.benchmarks.medley import sources
from metacog_pipeline.benchmarks.medley.construction.consensus import (
    AGREE,
    ENOUGH,
    MAJORITY_METHOD,
    PUBLISHED_METHOD,
    PUBLISHED_VALUES,
    counts_behind,
    disagreement,
    is_wrong,
    label_counts,
    label_median,
    leave_one_out_median,
    majority_verdict,
    ranks,
    rated_labels,
)
from metacog_pipeline.benchmarks.medley.construction.gates import PROBES, Evidence, evaluate
from metacog_pipeline.benchmarks.medley.construction.selection import Candidate, Pool, Selection, greedy_order
from metacog_pipeline.benchmarks.medley.construction.steps import (
    finished,
    gates_made,
    stage,
)
from metacog_pipeline.benchmarks.medley.items import DOMAINS, Claim, Instance, instance_from_published
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex, shipped, write_text
from metacog_pipeline.sources import read_bytes

MAX_BYTES = 64 * 1024**2  # of one file
CLOSE = 1e-9
# The first part that occurs in the last part of a model's name decides, so the special ones come first.
_FAMILIES = {
    **{name: name for name in ("medgemma",)},
    "gemini-design": "design",
    **{name: name for name in ("gemma", "gemini")},
    "gpt-oss": "gpt_oss",
    **{name: name for name in ("claude", "deepseek")},
    **dict.fromkeys(("devstral", "magistral", "ministral", "mistral"), "mistral"),
    **{name: name for name in ("glm", "llama", "minimax", "nemotron", "qwen")},
}
UNKNOWN = "unknown"


def published_family(model_id: str) -> str:
    """Return the family of a published analyst by its name; ``unknown`` for a name of none of them."""
    name = model_id.rsplit("/", 1)[-1].lower()
    return next((family for part, family in _FAMILIES.items() if part in name), UNKNOWN)


# --- reading and writing ----------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class PublishedSet:
    """A set as published: ``instances`` domain by domain, in file order.

    ``verification`` has of each (instance, claim) the verdicts of its judges in the file's order, the verdict the file
    names as that of the majority, and the consensus the judges were shown. ``selection`` is {instance: its entry in
    ``selection_metadata.json``}. In version 1.0 no instance is in ``probes`` {probe: instances with its flag} or
    ``difficulty`` {instance: tier}.
    """

    instances: tuple[Instance, ...]
    verification: Mapping[tuple[str, str], tuple[tuple[str, ...], str, object]]
    selection: Mapping[str, Mapping[str, Any]]
    probes: Mapping[str, Collection[str]]
    difficulty: Mapping[str, str]

    @property
    def verdicts(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """{instance: {claim: verdicts}}."""
        found: dict[str, dict[str, tuple[str, ...]]] = {}
        for (name, claim), (said, _, _) in self.verification.items():
            found.setdefault(name, {})[claim] = said
        return found


def read_set(folder: Path, dataset: str = "published") -> PublishedSet:
    """Read a folder in the published layout; SourceError for one without instances, or a file that is damaged."""
    wrong, answers = (
        _object(folder / f"{name}.json") for name in ("consensus_verified_wrong", "known_answers")
    )
    entries = _object(folder / "selection_metadata.json").items()
    selection = {name: entry for name, entry in entries if isinstance(entry, dict)}
    instances: list[Instance] = []
    probes: dict[str, list[str]] = {probe: [] for probe in PROBES}
    difficulty: dict[str, str] = {}
    for domain in DOMAINS:
        path = folder / "instances" / f"{domain}.json"
        consensus = _object(folder / "consensus" / f"{domain}.json")
        for given in _json(path, list) if path.exists() else ():
            key = str(given.get("instance_id")) if isinstance(given, dict) else ""
            instance = instance_from_published(
                given,
                consensus.get(key),
                verified_wrong=wrong.get(key, []),
                known_answer=answers.get(key),
                selected_models=selection.get(key, {}).get("selected_models", []),
                dataset=dataset,
                position=len(instances),
            )
            instances.append(instance)
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
            raise SourceError(f"{folder}: instance {name!r} is given twice; each id means one case")
    verification = dict(_verification(folder / "consensus_verification.json"))
    return PublishedSet(tuple(instances), verification, selection, probes, difficulty)


def _verification(path: Path) -> Iterator[tuple[tuple[str, str], tuple[tuple[str, ...], str, object]]]:
    for key, row in _object(path).items():
        try:
            said = tuple(str(judge["verdict"]) for judge in row["judges"].values())
            yield (
                (row["instance_id"], row["claim_id"]),
                (said, row["majority_verdict"], row.get("consensus_val")),
            )
        except (TypeError, KeyError, AttributeError):
            raise SourceError(
                f"{path}: {key!r} is not a verification (instance_id, claim_id, judges, majority_verdict); repair the file"
            ) from None


def _object(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = _json(path, dict) if path.exists() else {}
    return found


def _json(path: Path, kind: type) -> Any:
    try:
        value = json.loads(read_bytes(path, MAX_BYTES).decode("utf-8-sig"))
        json.dumps(value, ensure_ascii=False).encode(
            "utf-8"
        )  # half of a pair of surrogates is JSON but no text
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: not UTF-8 text of JSON ({error}); replace the file") from None
    if not isinstance(value, kind):
        raise SourceError(f"{path}: expected {kind.__name__}, got {type(value).__name__}; replace the file")
    return value


def write_set(
    folder: Path,
    instances: Sequence[Instance],
    verdicts: Mapping[str, Mapping[str, Sequence[str]]],
    judges: Sequence[str],
    *,
    probes: Mapping[str, Collection[str]],
    difficulty: Mapping[str, str],
) -> None:
    """Write a set that `read_set` reads back; files of the same names are replaced one by one.

    ``verdicts`` are {instance: {claim: one per judge}}, ``judges`` their names.
    """
    contents: dict[str, Any] = {
        "known_answers": {i.item_id: asdict(i.known_answer) for i in instances if i.known_answer is not None},
        "consensus_verified_wrong": {
            i.item_id: sorted(i.verified_wrong) for i in instances if i.verified_wrong
        },
        "selection_metadata": {i.item_id: {"selected_models": i.selected_models} for i in instances},
        "consensus_verification": {
            f"{i.item_id}_{claim}": {
                "instance_id": i.item_id,
                "claim_id": claim,
                "consensus_val": i.consensus.claim_confidences.get(claim),
                "judges": {name: {"verdict": said} for name, said in zip(judges, given, strict=False)},
                "majority_verdict": majority_verdict(given),
                "is_ka": i.is_known_answer,
            }
            for i in instances
            for claim, given in verdicts.get(i.item_id, {}).items()
            if given
        },
    }
    for domain in DOMAINS:
        chosen = [instance for instance in instances if instance.domain == domain]
        contents[f"consensus/{domain}"] = {each.item_id: asdict(each.consensus) for each in chosen}
        contents[f"instances/{domain}"] = [
            {
                "instance_id": each.item_id,
                "domain": each.domain,
                "vignette": each.vignette,
                "difficulty_tier": difficulty.get(each.item_id),
                "is_known_answer": each.is_known_answer,
                "is_error_detection": each.is_error_detection,
                **{f"is_{probe}": each.item_id in names for probe, names in probes.items()},
                "key_claims": [asdict(claim) for claim in each.claims],
                "ensemble_outputs": [asdict(analyst) for analyst in each.analysts],
            }
            for each in chosen
        ]
    for name, value in contents.items():
        write_text(folder / f"{name}.json", json.dumps(value, indent=2, ensure_ascii=False) + "\n")


# --- construction of what is given, again -----------------------------------------------------------------------------
def follows_from_counts(claim: Claim) -> bool:
    """Whether exactly one set of five counts with the stated number of raters gives the disagreement."""
    if claim.jsd_score is None or claim.majority_strength is None:
        return False
    return len(counts_behind(claim.jsd_score, int(claim.majority_strength))) == 1


def consensus_follows(instance: Instance, claim: str) -> bool:
    """Whether every field of the consensus on a claim is the upper median of the labels of the analysts shown."""
    given = instance.consensus
    again = label_median([rated_labels(each.response) for each in instance.analysts], [claim])
    return (
        again.method == given.method
        and again.claim_confidences[claim] == given.claim_confidences.get(claim)
        and again.claim_details[claim] == given.claim_details.get(claim)
    )


class PanelAgain(NamedTuple):
    """The analysts shown with an instance as a choice that is computed once more.

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
    parts = {
        "score" if part == "total" else f"{part}_score": value for part, value in asdict(found.scores).items()
    }
    scores = all(_close(round(value, 4), entry.get(name)) for name, value in parts.items()) and all(
        getattr(found, name) == entry.get(name)
        for name in ("strong_wrong_included", "family_counts", "position_summary")
    )
    same = {each.model_id for each in shown} == set(instance.selected_models)
    ordered = greedy_order(pool, range(len(shown)), len(shown)) == instance.selected_models
    return PanelAgain(
        found,
        scores,
        same,
        ordered,
        "greedy" if ordered else _order_explained(pool, instance.selected_models),
    )


def _order_explained(pool: Pool, selected: tuple[str, ...]) -> str:
    """Say why analysts are not in the order of the greedy steps; "" where nothing at hand explains it.

    Where nobody chosen is firmly wrong, the last step of the choice puts the one who is into the place of another. So
    where exactly one is, the greedy steps lead as far as that place, and the model that was replaced is not published.
    """
    names = [each.model_id for each in pool.candidates]
    chosen = [names.index(name) for name in selected if name in names]
    wrong = [place for place, which in enumerate(chosen) if pool.is_strong_wrong(which)]
    if len(chosen) != len(names) or len(wrong) != 1:
        return ""
    before = greedy_order(pool, chosen, len(names))[: wrong[0]]
    if wrong[0] >= 2 and before != selected[: wrong[0]]:  # the first two are chosen at once
        return ""
    return f"{selected[wrong[0]]}, alone firmly wrong, was put in at place {wrong[0] + 1}"


def _close(one: object, other: object) -> bool:
    return isinstance(one, int | float) and isinstance(other, int | float) and abs(one - other) <= CLOSE


@dataclass(frozen=True, slots=True)
class Line:
    """One published quantity: how many of its values follow from its own data, and what to know about the others."""

    what: str
    matched: int
    total: int
    note: str = ""

    def render(self) -> str:
        """Return one printable line."""
        return f"{self.what}: {self.matched} of {self.total}{'; ' + self.note if self.note else ''}"


def reproduction_report(published: PublishedSet) -> list[Line]:
    """Return what follows from its own data of a published set; the notes explain what version 1.0 cannot yield."""
    by_id = {instance.item_id: instance for instance in published.instances}
    claims = [(instance, claim) for instance in published.instances for claim in instance.claims]
    panels = [panel_again(by_id[name], entry) for name, entry in published.selection.items() if name in by_id]
    rows = [(by_id.get(n), claim, *told) for (n, claim), told in published.verification.items()]
    listed = [said for each, claim, said, _, _ in rows if each and claim in each.verified_wrong]

    def shown_again(instance: Instance, claim: Claim) -> bool:
        table = ranks([rated_labels(each.response) for each in instance.analysts], [claim.claim_id])
        return _close(float(disagreement(label_counts(table))[0]), claim.jsd_score)

    def values(instance: Instance | None, claim: str) -> list[float]:
        rated = [rated_labels(each.response) for each in instance.analysts] if instance else []
        return [PUBLISHED_VALUES.get(labels[claim], 0.5) for labels in rated if claim in labels]

    lines: list[tuple[str, Iterable[bool], str]] = [
        ("disagreement from label counts", [follows_from_counts(c) for _, c in claims],
         "exactly one set of five counts with the stated number of raters gives each value"),
        ("disagreement from the analysts shown", [shown_again(i, c) for i, c in claims],
         "the raters are the whole pool, whose answers are not published"),
        ("consensus, every field", [consensus_follows(i, c.claim_id) for i, c in claims],
         "by the upper median of the labels of the analysts shown; nothing in it is a jackknife"),
        ("selection scores", [each.scores for each in panels],
         "score, four parts, positions, families and the firmly wrong analyst; quality is 0.5 throughout"),
        ("analysts shown are those selected", [each.analysts for each in panels], ""),
        ("order of selection", [each.order for each in panels],
         "greedy within the set shown; in the others the last step put in the only firmly wrong analyst"),
        ("majority verdict", [majority_verdict(said) == verdict for _, _, said, verdict, _ in rows], ""),
        ("agreed by the paper's strict rule", [said.count(AGREE) >= ENOUGH for _, _, said, _, _ in rows],
         f"{sum(verdict == AGREE for _, _, _, verdict, _ in rows)} by the file's, where ties go to the first judge"),
        ("claims listed as wrong", [is_wrong(said) for said in listed],
         "claims listed as wrong on which at least two judges disagree; the rule of the list is not known"),
        ("consensus values of the verification",
         [each is not None and _close(v, each.consensus.claim_confidences.get(claim)) for each, claim, _, _, v in rows],
         "equal to the published consensus; they come from an earlier pool that is not published"),
        ("the same, left out in turn among those shown",
         [_close(value, leave_one_out_median(values(each, claim))) for each, claim, _, _, value in rows],
         "mean of the medians that remain when each analyst shown is left out"),
        ("majority of the pool kept under every deletion", [],
         "the consensus the paper describes; no published value is of this kind, and the pool is not published"),
    ]  # fmt: skip
    return [Line(what, sum(held), len(list(held)), note) for what, held, note in lines]


# --- the stages -------------------------------------------------------------------------------------------------------
def digest(benchmark: Any) -> str | None:
    """Return the SHA-256 of what the instances are read from; None for a source that is not home yet."""
    if benchmark.settings.dataset == "published":
        return sources.kept_digest(benchmark.context.home)
    folder = _folder(benchmark)
    files = sorted(path for path in folder.rglob("*.json") if path.is_file())
    return sha256_hex(
        canonical_json({p.relative_to(folder).as_posix(): sha256_hex(p.read_bytes()) for p in files})
    )


def given(benchmark: Any) -> PublishedSet:
    """Return the set as it is given, read once for each version of its files."""
    return _read(_folder(benchmark), benchmark.settings.dataset, digest(benchmark))


def _folder(benchmark: Any) -> Path:
    if benchmark.settings.dataset == "sample":
        return shipped("data", "medley", "sample")
    named = benchmark.settings.folder
    return sources.load_source(benchmark.context.home) if named is None else benchmark.context.beside(named)


@functools.lru_cache(maxsize=2)
def _read(place: Path, dataset: str, known: str | None) -> PublishedSet:
    return read_set(place, dataset)


def _source(benchmark: Any, inputs: Inputs) -> Made:
    if benchmark.settings.dataset == "published":
        (found,) = sources.fetch(benchmark.context.home, [sources.PUBLISHED])
        return Made(facts={"origin": found.origin, "instances": found.rows})
    return Made(facts={"origin": _folder(benchmark).name, "instances": len(given(benchmark).instances)})


def _claims(benchmark: Any) -> Iterator[tuple[Instance, Claim]]:
    for each in given(benchmark).instances:
        yield from ((each, claim) for claim in each.claims)


def _disagreement(benchmark: Any, inputs: Inputs) -> Made:
    rows = [
        {"item_id": each.item_id, "claim_id": c.claim_id, "n_rated": c.majority_strength, "jsd": c.jsd_score,
         "again": follows_from_counts(c)}
        for each, c in _claims(benchmark)
    ]  # fmt: skip
    return _made(rows, "jsd_follows_from_counts")


def _consensus(benchmark: Any, inputs: Inputs) -> Made:
    rows = [
        {"item_id": each.item_id, "claim_id": c.claim_id, "rule": each.consensus.method,
         "confidence": each.consensus.claim_confidences.get(c.claim_id),
         "again": consensus_follows(each, c.claim_id) if each.consensus.method == PUBLISHED_METHOD else None}
        for each, c in _claims(benchmark)
    ]  # fmt: skip
    return _made(rows, "consensus_is_the_label_median")


def _verification_again(benchmark: Any, inputs: Inputs) -> Made:
    rows = [
        {"item_id": name, "claim_id": claim, "verdicts": list(said), "majority": majority,
         "again": majority == majority_verdict(said)}
        for (name, claim), (said, majority, _) in given(benchmark).verification.items()
    ]  # fmt: skip
    return _made(rows, "majority_is_the_published_one")


def _panels(benchmark: Any, inputs: Inputs) -> Made:
    known = given(benchmark)
    rows, others = [], []
    for each in known.instances:
        entry = known.selection.get(each.item_id)
        if entry is None:
            continue
        again = panel_again(each, entry)
        scored = "score" in entry  # a set that was generated keeps who was selected, no scores
        held = again.scores and again.analysts if scored else again.analysts
        row = {"item_id": each.item_id, "analysts": list(each.selected_models), **asdict(again.found.scores)}
        rows.append(
            {**row, "again": held, "order_again": again.order if scored else None, "order": again.why}
        )
        others += [(each.item_id, again.why)] if scored and not again.order else []
    made = _made(rows, "panels_are_the_published_ones")
    told = "; ".join(f"{name}: {why or 'not explained'}" for name, why in others)
    facts = {"made again": f"{len(rows) - len(others)} of {len(rows)}", "others": told}
    order = Checked(all(why for _, why in others), facts)
    return Made(
        frame=made.frame, facts=made.facts, checks={**made.checks, "order_is_the_published_one": order}
    )


def _made(rows: Sequence[Mapping[str, Any]], check: str) -> Made:
    """Return a table; its column ``again`` says whether a row follows, null where that cannot be tried."""
    frame = pl.DataFrame(list(rows), infer_schema_length=None, schema_overrides={"again": pl.Boolean})
    tried = frame["again"].drop_nulls() if rows else pl.Series([], dtype=pl.Boolean)
    facts = {"made again": f"{int(tried.sum())} of {len(tried)}"}
    return Made(frame=frame, facts=facts, checks={check: Checked(bool(tried.all()) and bool(rows), facts)})


def _gates(benchmark: Any, inputs: Inputs) -> Made:
    known = given(benchmark)
    analysts = {a.model_id: published_family(a.model_id) for i in known.instances for a in i.analysts}
    families = {name: family for name, family in analysts.items() if family != UNKNOWN}
    anonymised = (
        benchmark.settings.anonymise if known.instances[0].consensus.method == MAJORITY_METHOD else None
    )
    evidence = Evidence(
        known.difficulty, known.probes, verdicts=known.verdicts, families=families, anonymised=anonymised
    )
    return gates_made(evaluate(known.instances, evidence))


_step = partial(stage, there="source disagreement panels consensus verification gates items")
STEPS = (
    _step("source", _source, "", inputs=digest),
    _step("disagreement", _disagreement, "jsd_follows_from_counts"),
    _step("consensus", _consensus, "consensus_is_the_label_median"),
    _step("verification", _verification_again, "majority_is_the_published_one"),
    _step("panels", _panels, "panels_are_the_published_ones order_is_the_published_one"),
    _step("gates", _gates, "fit_to_be_released"),
    _step(
        "items", lambda benchmark, inputs: finished(benchmark, given(benchmark).instances), "invariants_hold"
    ),
)
