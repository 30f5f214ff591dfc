"""``medley``: make new instances, and see what of the published construction can be made again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from metacog_pipeline.benchmarks.medley import sources
from metacog_pipeline.benchmarks.medley.construction.published import read_set
from metacog_pipeline.benchmarks.medley.construction.reproduction import reproduction_report
from metacog_pipeline.benchmarks.medley.stages import generator
from metacog_pipeline.benchmarks.medley.stages.gates import gates as kept_gates
from metacog_pipeline.commands.options import quiet_option, study_option
from metacog_pipeline.errors import ProviderError, StudyError
from metacog_pipeline.progress import ProgressLine, style_for
from metacog_pipeline.querying.partition import Progress
from metacog_pipeline.querying.session import INTERRUPTED
from metacog_pipeline.study import load_study


@click.group()
def medley() -> None:
    """Make MEDLEY-BENCH instances; count what of the published ones can be made again."""


@medley.command()
@study_option
def reproduce(study_file: Path) -> None:
    """Count which published values follow from the published data, and say why the others cannot.

    The set is fetched into the study's home where it is not there yet; `metacog fetch medley --from` takes it from a file.
    """
    study = load_study(study_file)
    study.home.prepare()
    sources.fetch(study.home.path, [sources.PUBLISHED])
    for line in reproduction_report(read_set(sources.load_source(study.home.path))):
        click.echo(line.render())


@medley.command()
@study_option
@quiet_option
def generate(study_file: Path, quiet: bool) -> None:
    """Make the study's new instances: ask designers, analysts and judges what they have not answered yet.

    `metacog run` does the same before it asks the models that are measured.
    """
    study = load_study(study_file)
    if not generator.wanted(study):
        raise StudyError(
            f"{study_file.name}: the study takes instances that are there; add [benchmarks.medley.generator], or take "
            'dataset = "sample"'
        )
    study.home.prepare()
    todo = generator.stale(study)
    lines: dict[str, ProgressLine] = {}
    for stage in todo:

        def show(progress: Progress, stage: str = stage) -> None:
            line = lines.setdefault(stage, ProgressLine(stage, progress.total, style_for(quiet)))
            line.update(progress.done, progress.tally.cost_usd)

        try:
            made = generator.run_stage(study, stage, show)
        except ProviderError:
            if INTERRUPTED.is_set():
                raise click.Abort from None
            raise
        click.echo(f"{stage}: {_listed(made.facts)}")
        for check in made.checks:
            if not check.passed:
                click.echo(f"  does not hold: {check.name} ({_listed(check.facts)})")
        generator.refuse(stage, made)
    if not todo:
        click.echo("everything is made; nobody was asked")


@medley.command()
@study_option
def gates(study_file: Path) -> None:
    """Say which gates the study's set of instances passes, fails, or cannot be held to yet, and why.

    Gates that block must be passed before a set is released. Those on judges of answers (G7, G8, G15) are decided once
    `metacog run` has had answers judged.
    """
    found = kept_gates(load_study(study_file))
    for gate in found:
        click.echo(gate.render())
    stops = [gate.name for gate in found if gate.stops]
    click.echo(f"not fit to be released: {', '.join(stops)}" if stops else "fit to be released")


def _listed(facts: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())
