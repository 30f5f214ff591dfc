"""The stages that make new instances: what each reads, what it makes of it, and what must hold for that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.common.files import Shown, write_frame
from metacog_pipeline.benchmarks.medley.construction import invariants
from metacog_pipeline.benchmarks.medley.construction.assembly import (
    Opinions,
    assemble,
    facts,
    numbered,
    panel,
    pool_consensus,
)
from metacog_pipeline.benchmarks.medley.construction.consensus import MAJORITY_METHOD, label_median
from metacog_pipeline.benchmarks.medley.construction.designs import designer_tasks, draft_of, read_design
from metacog_pipeline.benchmarks.medley.construction.drafts import Draft
from metacog_pipeline.benchmarks.medley.construction.files import write_items
from metacog_pipeline.benchmarks.medley.construction.filters import ambiguity
from metacog_pipeline.benchmarks.medley.construction.gate_tables import gate_frame
from metacog_pipeline.benchmarks.medley.construction.gates import Evidence, evaluate
from metacog_pipeline.benchmarks.medley.construction.generate import opinions_of as read_opinions
from metacog_pipeline.benchmarks.medley.construction.layout import write_set
from metacog_pipeline.benchmarks.medley.construction.pool import pool_tasks
from metacog_pipeline.benchmarks.medley.construction.probes import draw_probes
from metacog_pipeline.benchmarks.medley.construction.selection import PANEL, PER_FAMILY
from metacog_pipeline.benchmarks.medley.construction.verdicts import (
    read_verdict,
    verdict_id,
    verification_tasks,
)
from metacog_pipeline.benchmarks.medley.construction.verification import VERDICTS
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DOMAINS
from metacog_pipeline.benchmarks.medley.labels import LABELS
from metacog_pipeline.benchmarks.medley.stages import generator_files as files
from metacog_pipeline.benchmarks.medley.stages.generator_asking import Asked, ask_role, replies, stop
from metacog_pipeline.benchmarks.medley.stages.generator_cast import JUDGES, cast
from metacog_pipeline.benchmarks.medley.stages.generator_checks import blocking
from metacog_pipeline.benchmarks.medley.stages.generator_marks import (
    ASKING,
    incomplete_will_do,
    mark,
    words,
)
from metacog_pipeline.benchmarks.medley.stages.settings import generator_folder, made_folder, settings
from metacog_pipeline.errors import SourceError
from metacog_pipeline.querying.partition import Progress
from metacog_pipeline.querying.session import INTERRUPTED
from metacog_pipeline.querying.types import Task
from metacog_pipeline.study import Study

LEAST_WORDS, MOST_WORDS = 200, 400
MOST_DISAGREEMENT = 0.42282  # nats: five labels equally often, rounded up
Fact = int | float | str
OnProgress = Callable[[Progress], None] | None


@dataclass(frozen=True, slots=True)
class Check:
    """Whether something that must hold does; ``facts`` are worth showing."""

    name: str
    passed: bool
    facts: Mapping[str, Fact]


@dataclass(frozen=True, slots=True)
class Made(Shown):
    """What a stage made; ``mark`` says from what, ``asked`` is how asking went in a stage that asks."""

    mark: str = ""
    checks: tuple[Check, ...] = ()
    asked: Asked | None = None


def instances_path(study: Study) -> Path:
    """Return where the finished instances are kept, in their order."""
    return generator_folder(study) / "instances.parquet"


def _seeds(study: Study) -> Made:
    frame = files.frame_of(map(files.seed_row, cast(study).seeds), files.SEEDS)
    per_domain = _per_domain(frame)
    known = int(frame["known_answer"].is_not_null().sum())
    checks = (Check("every_domain_has_seeds", all(per_domain.values()), per_domain),)
    return _keep(study, "medley_seeds", frame, {**per_domain, "known_answer": known}, checks)


def _designs(study: Study, on_progress: OnProgress) -> Made:
    seeds = files.seeds_of(files.stage_frame(study, "medley_seeds"))
    tasks = designer_tasks(seeds, words())
    asked, said = _ask(study, "medley_designs", tasks, on_progress)
    rows = []
    for seed in seeds:
        for designer, texts in said.items():
            for text in texts.get(seed.seed_id, []):
                design = read_design(text)
                rows.append(
                    {
                        "seed_id": seed.seed_id,
                        "designer": designer,
                        "usable": design is not None,
                        "words": len(design.vignette.split()) if design else 0,
                        "text": text,
                    }
                )
    frame = files.frame_of(rows, files.DESIGNS)
    usable = frame.filter("usable")["seed_id"].n_unique()
    checks = (_answered(asked), _all("every_seed_has_a_design", usable, len(seeds)))
    found = {"usable": int(frame["usable"].sum())}
    return _keep(study, "medley_designs", frame, found, checks, asked)


def _drafts(study: Study) -> Made:
    texts: dict[str, list[str]] = {}
    for seed_id, text in files.stage_frame(study, "medley_designs").select("seed_id", "text").iter_rows():
        texts.setdefault(seed_id, []).append(text)
    seeds = files.seeds_of(files.stage_frame(study, "medley_seeds"))
    made = [draft_of(seed, texts.get(seed.seed_id, [])) for seed in seeds]
    drafts = [draft for draft in made if draft is not None]
    if not drafts:
        raise SourceError("medley_drafts: no designer wrote a case that can be read; see medley_designs")
    frame = files.frame_of(map(files.draft_row, drafts), files.DRAFTS)
    fixed = sum(len(set(draft.claim_texts)) == len(CLAIM_IDS) for draft in drafts)
    length = int(frame["words"].is_between(LEAST_WORDS, MOST_WORDS).sum())
    checks = (
        _all("five_different_claims", fixed, len(drafts)),
        _all("two_to_four_hundred_words", length, len(drafts)),
        _all("every_seed_has_a_draft", len(drafts), len(seeds)),
    )
    tiers = dict(sorted(frame["tier"].value_counts().iter_rows()))
    return _keep(
        study, "medley_drafts", frame, {"seeds without a case": len(seeds) - len(drafts), **tiers}, checks
    )


def _pool(study: Study, on_progress: OnProgress) -> Made:
    drafts = files.drafts_of(files.stage_frame(study, "medley_drafts"))
    asked, said = _ask(study, "medley_pool", pool_tasks(drafts, words()), on_progress)
    families = cast(study).families
    rows = []
    for draft in drafts:
        texts = {name: by_item.get(draft.draft_id, []) for name, by_item in said.items()}
        rows += files.opinion_rows(read_opinions(draft, texts, families), texts)
    frame = files.frame_of(rows, files.POOL)
    readable = frame.filter(pl.col("response").is_not_null())
    labels = readable.select(CLAIM_IDS)
    given = labels.unpivot()["value"].drop_nulls()
    five = int(labels.select(pl.all_horizontal(pl.all().is_not_null()).sum()).item())
    checks = (
        _answered(asked),
        _all("labels_in_vocabulary", int(given.is_in(list(LABELS)).sum()), len(given)),
        _all("five_ratings_per_analyst", five, readable.height),
        _all("replies_can_be_read", readable.height, frame.height),
        _all("every_draft_was_judged", readable["draft_id"].n_unique(), len(drafts)),
    )
    found = {"analysts": len(said), "readable": readable.height}
    return _keep(study, "medley_pool", frame, found, checks, asked)


def _disagreement(study: Study) -> Made:
    rows = []
    for each in _opinions(study):
        measured, draft = facts(each), each.draft
        verdict = ambiguity(measured.jsd, CLAIM_IDS, known_answer=draft.known_answer is not None)
        rows += files.disagreement_rows(draft, measured, verdict)
    frame = files.frame_of(rows, files.DISAGREEMENT)
    kept = frame.filter("kept")["draft_id"].n_unique()
    drafts = frame["draft_id"].n_unique()
    inside = frame.filter(pl.col("jsd").is_between(0, MOST_DISAGREEMENT)).height
    checks = (
        _all("within_its_range", inside, frame.height),
        _all("five_claims_each", frame.height, drafts * len(CLAIM_IDS)),
        Check("something_is_open", kept > 0, {"kept": kept, "of": drafts}),
    )
    return _keep(study, "medley_disagreement", frame, {"kept": kept, "left_out": drafts - kept}, checks)


def _consensus(study: Study) -> Made:
    rows = []
    kept = _kept(study)
    for each in kept:
        rows += files.consensus_rows(each.draft, pool_consensus(each))
        rated = [candidate.labels for candidate in each.candidates]
        rows += files.consensus_rows(each.draft, label_median(rated, CLAIM_IDS))
    frame = files.frame_of(rows, files.CONSENSUS)
    majority = frame.filter(pl.col("rule") == MAJORITY_METHOD)
    inside = majority.filter(pl.col("confidence").is_between(0, 1)).height
    checks = (
        _all("one_on_every_claim", majority.height, len(kept) * len(CLAIM_IDS)),
        _all("within_zero_and_one", inside, majority.height),
    )
    stable = int(majority["stable"].fill_null(value=False).sum())
    return _keep(study, "medley_consensus", frame, {"claims": majority.height, "stable": stable}, checks)


def _panels(study: Study) -> Made:
    kept = _kept(study)
    chosen = [(each, panel(each)) for each in kept]
    frame = files.frame_of((files.panel_row(each.draft, found) for each, found in chosen), files.PANELS)
    full = sum(len(found.selected_models) == min(PANEL, len(each.models)) for each, found in chosen)
    capped = sum(max(found.family_counts.values(), default=0) <= PER_FAMILY for _, found in chosen)
    rated = sum(_all_readable(each, found.selected_models) for each, found in chosen)
    checks = (
        _all("eight_analysts", full, len(chosen)),
        _all("at_most_two_per_family", capped, len(chosen)),
        _all("all_of_them_could_be_read", rated, len(chosen)),
    )
    return _keep(study, "medley_panels", frame, {"panels": len(chosen)}, checks)


def _verification(study: Study, on_progress: OnProgress) -> Made:
    given = files.consensus_by_draft(files.stage_frame(study, "medley_consensus"), MAJORITY_METHOD)
    drafts = [draft for draft in _all_drafts(study) if draft.draft_id in given]
    tasks = verification_tasks([(draft, given[draft.draft_id]) for draft in drafts], words())
    asked, said = _ask(study, "medley_verification", tasks, on_progress)
    rows = []
    for draft in drafts:
        for claim in CLAIM_IDS:
            for judge, texts in said.items():
                read = map(read_verdict, texts.get(verdict_id(draft.draft_id, claim), []))
                verdict = next(filter(None, read), None)
                rows.append(
                    {"draft_id": draft.draft_id, "claim_id": claim, "judge": judge, "verdict": verdict}
                )
    frame = files.frame_of(rows, files.VERIFICATION)
    covered = int(frame["verdict"].is_in(list(VERDICTS)).sum())
    checks = (_answered(asked), _all("three_verdicts_on_every_claim", covered, frame.height))
    counted = {
        str(name): n for name, n in frame["verdict"].drop_nulls().value_counts().sort("verdict").iter_rows()
    }
    return _keep(study, "medley_verification", frame, counted, checks, asked)


def _gates(study: Study) -> Made:
    who = cast(study)
    given = files.consensus_by_draft(files.stage_frame(study, "medley_consensus"), MAJORITY_METHOD)
    panels = files.panels_of(files.stage_frame(study, "medley_panels"))
    verdicts = files.verdicts_by_draft(files.stage_frame(study, "medley_verification"))
    made = []
    for each in _kept(study):
        name = each.draft.draft_id
        made.append(assemble(each, given[name], panels[name], verdicts.get(name), dataset=who.dataset))
    instances = numbered(made)
    tiers = dict(files.stage_frame(study, "medley_drafts").select("draft_id", "tier").iter_rows())
    probes = draw_probes(instances, study.study.seed)
    evidence = Evidence(
        difficulty=tiers,
        traps=probes["trap"],
        minimal_probes=probes["minimal_instruction"],
        verdicts=verdicts,
        families=who.families,
        prompt_versions=words().versions,
        anonymised=settings(study).anonymise,
    )
    found = evaluate(instances, evidence)
    broken = invariants.check(instances)
    write_items(instances_path(study), instances)
    names = [spec.name for spec in who.people[JUDGES]]
    write_set(made_folder(study), instances, verdicts, names, probes=probes, difficulty=tiers)
    frame = gate_frame(found)
    failed = [gate.render() for gate in found if gate.stops]
    checks = (
        Check("invariants_hold", not broken, {"violations": "; ".join(broken)}),
        Check("fit_to_be_released", not failed, {"failed": "; ".join(failed)}),
    )
    facts_of: dict[str, Fact] = {
        "instances": len(instances),
        **{f"probes, {name.replace('_', ' ')}": len(ids) for name, ids in probes.items()},
        "gates that stop": len(failed),
        "folder": str(made_folder(study)),
    }
    return _keep(study, "medley_gates", frame, facts_of, checks)


def _keep(
    study: Study,
    stage: str,
    frame: pl.DataFrame,
    found: Mapping[str, Fact],
    checks: Sequence[Check],
    asked: Asked | None = None,
) -> Made:
    """Write what a stage made, with the mark of what it was made from.

    What must not be built on is never taken for up to date: the check that refused it must be met again.
    """
    refused = any(check.name in blocking(stage) and not check.passed for check in checks)
    made_from = "" if refused else mark(study, stage)
    write_frame(frame, files.stage_path(study, stage), made_from)
    return Made({"rows": frame.height, **found}, frame, made_from, tuple(checks), asked)


def _ask(
    study: Study, stage: str, tasks: Sequence[Task], on_progress: OnProgress
) -> tuple[Asked, dict[str, dict[str, list[str]]]]:
    """Ask what is not answered yet and return all that was said; raises where something has no answer."""
    who, role = cast(study), ASKING[stage]
    asked = ask_role(study, role, who, tasks, words().digest, on_progress)
    if asked.problems and (INTERRUPTED.is_set() or not incomplete_will_do(study)):
        raise stop(asked)
    return asked, replies(study, role, who, tasks)


def _all_drafts(study: Study) -> list[Draft]:
    return files.drafts_of(files.stage_frame(study, "medley_drafts"))


def _opinions(study: Study, drafts: Sequence[Draft] | None = None) -> list[Opinions]:
    chosen = _all_drafts(study) if drafts is None else drafts
    return files.opinions_of(chosen, files.stage_frame(study, "medley_pool"))


def _kept(study: Study) -> list[Opinions]:
    """Return what the pool said of the drafts that are open enough."""
    frame = files.stage_frame(study, "medley_disagreement")
    kept = set(frame.filter("kept")["draft_id"])
    return _opinions(study, [draft for draft in _all_drafts(study) if draft.draft_id in kept])


def _all_readable(opinions: Opinions, chosen: Collection[str]) -> bool:
    said = zip(opinions.models, opinions.responses, strict=True)
    return all(response is not None for model, response in said if model in chosen)


def _per_domain(frame: pl.DataFrame) -> dict[str, int]:
    counted = Counter(frame["domain"].to_list())
    return {domain: counted[domain] for domain in DOMAINS}


def _answered(asked: Asked) -> Check:
    facts_of: dict[str, Fact] = {
        "answered": asked.answered,
        "of": asked.items,
        "problems": "; ".join(asked.problems),
    }
    return Check("all_was_answered", asked.answered == asked.items, facts_of)


def _all(name: str, found: int, total: int) -> Check:
    """Of nothing, nothing can hold."""
    return Check(name, bool(total) and found == total, {"found": found, "of": total})


#: The stages that ask nobody.
MAKE: Mapping[str, Callable[[Study], Made]] = {
    "medley_seeds": _seeds,
    "medley_drafts": _drafts,
    "medley_disagreement": _disagreement,
    "medley_consensus": _consensus,
    "medley_panels": _panels,
    "medley_gates": _gates,
}
#: The stages that ask.
ASK: Mapping[str, Callable[[Study, OnProgress], Made]] = {
    "medley_designs": _designs,
    "medley_pool": _pool,
    "medley_verification": _verification,
}
