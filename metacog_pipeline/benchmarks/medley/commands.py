"""``medley``: make new instances, and see what of the published construction can be made again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import click

from metacog_pipeline.asking import construction
from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.asking.states import Progress
from metacog_pipeline.benchmarks.medley import Medley, importing, sources
from metacog_pipeline.benchmarks.medley.construction import steps, tables
from metacog_pipeline.benchmarks.medley.construction.gates import Gate, gates_of, verdict
from metacog_pipeline.benchmarks.medley.construction.layout import write_set
from metacog_pipeline.benchmarks.medley.construction.probes import draw_probes
from metacog_pipeline.benchmarks.medley.construction.published import read_set
from metacog_pipeline.benchmarks.medley.construction.reproduction import reproduction_report
from metacog_pipeline.benchmarks.medley.construction.roles import VERIFIERS
from metacog_pipeline.benchmarks.medley.judging import declared, suite
from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import quiet_option, study_option
from metacog_pipeline.errors import ProviderError, SourceError, StudyError
from metacog_pipeline.progress import ProgressLine, style_for
from metacog_pipeline.scoring.files import table_path
from metacog_pipeline.study import load_study
from metacog_pipeline.study.frames import read_frame


@click.group()
def medley() -> None:
    """Make MEDLEY-BENCH instances; count what of the published ones can be made again."""


@medley.command()
@study_option
@printing.json_option
def reproduce(study_file: Path) -> None:
    """Count which published values follow from the published data, and say why the others cannot.

    The set is fetched into the study's home where it is not there yet; `metacog fetch medley --from` takes it from a file.
    """
    study = load_study(study_file)
    study.prepare()
    sources.fetch(study.home, [sources.PUBLISHED])
    for line in reproduction_report(read_set(sources.load_source(study.home))):
        printing.say(line.render(), quantities=[asdict(line)])


@medley.command()
@study_option
@printing.json_option
def judges(study_file: Path) -> None:
    """Try the study's judges on fixed answers and print the bias of each, with its 95 % interval.

    `metacog run` does the same before anybody grades. What was asked once is not asked again.
    """
    bench = Medley.of(load_study(study_file))
    if not bench.judges:
        raise StudyError(f"{study_file.name}: [benchmarks.medley] names no judges; add judges = [...]")
    bench.context.study.prepare()
    if not construction.step_current(bench, suite.STEP):
        construction.run_step(bench, suite.STEP)
    for each in declared.biases(bench):
        found, told = each.found, "no value"
        if found.value is not None:
            told = f"{found.value:+.3f} ({found.low:+.3f} to {found.high:+.3f})"
        numbers = {"bias": found.value, "low": found.low, "high": found.high, "n": found.n}
        printing.say(
            f"{each.judge}, {each.form}: {told}, {found.n} answers: {found.status}",
            biases=[{"judge": each.judge, "form": each.form, **numbers, "verdict": found.status}],
        )


@medley.command()
@study_option
@quiet_option
@printing.json_option
def generate(study_file: Path, quiet: bool) -> None:
    """Make the study's new instances: ask designers, analysts and verifiers what they have not answered yet.

    `metacog run` does the same before it asks the models that are measured.
    """
    bench = _made_here(study_file)
    bench.context.study.prepare()
    todo = construction.stale_steps(bench)
    lines: dict[str, ProgressLine] = {}
    for name in todo:

        def show(progress: Progress, name: str = name) -> None:
            line = lines.setdefault(name, ProgressLine(f"medley_{name}", progress.total, style_for(quiet)))
            line.update(progress.done, progress.tally.cost_usd)

        try:
            made = construction.run_step(bench, construction.step_of(bench, name), show)
        except ProviderError:
            if INTERRUPTED.is_set():
                raise click.Abort from None
            raise
        failed = {check: result.facts for check, result in made.checks.items() if not result.passed}
        told = {"step": name, "facts": dict(made.facts), "failed_checks": list(failed)}
        printing.say(f"medley_{name}: {_listed(made.facts)}", steps=[told])
        for check, facts in failed.items():
            printing.say(f"  does not hold: {check} ({_listed(facts)})")
    if not todo:
        printing.say("nobody was asked: every step has been taken", steps=[])
    printing.say(verdict(_gates(bench)))


@medley.command()
@study_option
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@printing.json_option
def export(study_file: Path, folder: Path) -> None:
    """Write the whole set the study made to FOLDER, in the layout of the published data, to be read, checked and shared."""
    bench = _made_here(study_file)
    if stale := [s for s in construction.stale_steps(bench) if s in construction.for_items(bench)]:
        raise SourceError(f"medley_{stale[0]} is not made yet; run `metacog medley generate`")
    kept = construction.KeptInputs(bench)
    instances = steps.assembled(kept.frame, bench.roles.dataset)
    write_set(
        folder,
        instances,
        tables.verdicts_by_draft(kept.frame("verification")),
        [spec.name for spec in bench.roles.people[VERIFIERS]],
        probes=draw_probes(instances, bench.context.seed),
        difficulty=dict(kept.frame("drafts").select("draft_id", "tier").iter_rows()),
    )
    printing.say(f"{len(instances)} instances: {folder}", instances=len(instances), wrote=[str(folder)])


@medley.command()
@study_option
@printing.json_option
def gates(study_file: Path) -> None:
    """Say which gates the study's set of instances passes, fails, or cannot be held to yet, and why.

    Gates that block must be passed before a set is released. Those on judges of answers (G7, G8, G15) are decided once
    `metacog run` has had answers judged.
    """
    found = _gates(Medley.of(load_study(study_file)))
    for gate in found:
        printing.say(gate.render(), gates=[asdict(gate)])
    stops = [gate.name for gate in found if gate.stops]
    printing.say(verdict(found), stopped_by=stops)


@medley.command()
@study_option
@click.argument("name")
@click.option("--model", required=True, help='A model of the study with provider = "replay".')
@click.option("--run", type=click.IntRange(1, 99), default=1, show_default=True, help="Which run it becomes.")
@printing.json_option
def analyst(study_file: Path, name: str, model: str, run: int) -> None:
    """Keep what the analyst NAME of the instances wrote as a replayed model's answers to step A.

    NAME is a model, or "Analyst A" to "Analyst H" for whoever stands in that place.
    """
    done = importing.import_analyst(Medley.of(load_study(study_file)), name, model, run)
    kept = len(done.records)
    printing.say(f"{kept} answers kept for {model}, run {run}", kept=kept, model=model, run=run)


def _gates(bench: Medley) -> tuple[Gate, ...]:
    """Return the gates as last decided: by judges of answers where there are any, else when the set was made."""
    decided = table_path(bench, "gates")
    made = construction.result_path(bench, "gates")
    path = decided if decided.exists() else made
    if not path.exists():
        raise SourceError(
            f"{path}: the gates are not evaluated yet; run `metacog run`, or build the items in the UI"
        )
    return gates_of(read_frame(path))


def _made_here(study_file: Path) -> Medley:
    bench: Medley = Medley.of(load_study(study_file))
    if not bench.makes_items:
        raise StudyError(
            f"{study_file.name}: the study takes instances that are there; add [benchmarks.medley.generator], or take "
            'dataset = "sample"'
        )
    return bench


def _listed(facts: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())
