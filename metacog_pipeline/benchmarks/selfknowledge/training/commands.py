"""``metacog train STEP STUDY``: teach a model to know what it knows."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from metacog_pipeline.benchmarks.selfknowledge.training.settings import TrainingSection
from metacog_pipeline.benchmarks.selfknowledge.training.steps import TRAINING, chain
from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import quiet_option, read_study
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import write_text
from metacog_pipeline.leaderboard.output import Rows
from metacog_pipeline.progress import ProgressLine, style_for
from metacog_pipeline.study import Study
from metacog_pipeline.study.allowed import explain

_STEPS = {step.name.removeprefix("esma_"): place for place, step in enumerate(TRAINING)}
_TOY = """\
[study]
name = "toy"

[[models]]
name = "sim"
provider = "simulated"

[benchmarks.selfknowledge]

[training]
preset = "small"
"""


@click.command()
@click.argument("step", type=click.Choice(["study", "toy", "preflight", *_STEPS]))
@click.argument("study_file", metavar="STUDY", type=click.Path(path_type=Path))
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Replaces a key of [training].")
@quiet_option
@printing.json_option
def train(step: str, study_file: Path, changes: tuple[str, ...], quiet: bool) -> None:
    """Teach a model to know what it knows, by an evolution strategy (needs the extra `train`).

    `study` runs all steps of [training] in the study file; `base` to `evaluation` run up to that step. Finished work is
    kept, and a step that was stopped continues. `preflight` tries a few individuals and reports what a run needs; it
    exits with 1 where nothing can be learnt. `toy` writes a study that trains a small model on an invented world, and
    runs it in about a minute.
    """
    if step == "toy" and not study_file.exists():
        write_text(study_file, _TOY)
    study = changed(read_study(study_file), changes)
    made = chain(study)
    if step == "preflight":
        _preflight(made, study_file, quiet)
        return
    study.prepare()
    last = None
    for each in TRAINING[: _STEPS.get(step, len(TRAINING)) + 1]:
        total = each.total(study) if each.total is not None else 0
        with ProgressLine(each.name, total, style_for(quiet), priced=False) as line:

            def tell(generation: Any, line: ProgressLine = line) -> None:
                line.note = generation.line()

            last = each.run(study, line.update, tell)
        printing.say(
            "; ".join(f"{name} {value}" for name, value in last.facts.items()), **{each.name: last.facts}
        )
    if last is not None and last.table is not None:
        printing.table("measures", Rows(tuple(last.table.columns), tuple(last.table.iter_rows())))
    printing.say(f"wrote {made.folder}", wrote=[str(made.folder)])
    trained = made.folder / "study.toml"
    printing.next_step(*(("run", trained) if trained.exists() else ("train", "study", study_file)))


def changed(study: Study, changes: Sequence[str]) -> Study:
    """Return the study with keys of [training] in place of the file's; each is ``key=value`` as in TOML, or plain
    text."""
    if not changes:
        return study
    given = {} if study.training is None else study.training.model_dump(exclude_unset=True)
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals:
            raise StudyError(f"--set {change}: KEY=VALUE needed, for example --set sigma=0.01")
        try:
            given[key.strip()] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            given[key.strip()] = text.strip()
    try:
        section = TrainingSection.model_validate(given)
    except ValidationError as error:
        raise StudyError(f"--set: {explain(error, TrainingSection, ('training',))}") from None
    return study.model_copy(update={"training": section})


def _preflight(made: Any, study_file: Path, quiet: bool) -> None:
    from metacog_pipeline.benchmarks.selfknowledge.training.preflight import look

    with ProgressLine("questions", 1, style_for(quiet), priced=False):
        found = look(made)
    printing.table("preflight", Rows(("what", "needed", "there"), tuple(found.rows)))
    printing.say(**found.numbers)
    for reason in found.reasons:
        printing.say(f"cannot go: {reason}", reasons=[reason])
    if found.reasons:
        sys.exit(1)
    printing.say("ready: individuals differ, and the run fits", reasons=[])
    printing.next_step("train", "study", study_file)
