"""``train sft``, ``train patch`` and ``train evaluate``: baselines, the weights that matter, and a model's own numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metacog_pipeline.benchmarks.selfknowledge.training.command_options import (
    ASKING,
    FOLDER,
    HELD_OUT,
    MODEL,
    QUESTIONS,
    asking_from,
    folder_option,
    need_torch,
    one_set,
    options,
    questions_from,
)
from metacog_pipeline.benchmarks.selfknowledge.training.figures import D, shown
from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import quiet_option
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import making_folder
from metacog_pipeline.leaderboard.output import Rows
from metacog_pipeline.progress import ProgressLine, style_for
from metacog_pipeline.stats.estimate import Estimate

if TYPE_CHECKING:
    from metacog_pipeline.study import Study


@click.command()
@folder_option
@click.option("--output", type=FOLDER, required=True, help="New folder for the tuned model.")
@options(QUESTIONS, HELD_OUT, ASKING, MODEL)
@click.option(
    "--kind",
    type=click.Choice(("meta", "answers")),
    default="meta",
    help="Learn when to say yes, or learn the answers.",
)
@click.option("--steps", type=int, default=1000)
@click.option("--batch", type=int, default=8)
@click.option("--rate", type=float, default=2e-5, help="Largest learning rate.")
@click.option("--warm-up", type=float, default=0.1, help="Share of the steps.")
@click.option("--loss-on", type=click.Choice(("answer", "all")), default="answer")
@click.option("--seed", type=int, default=42)
@quiet_option
@printing.json_option
def sft(folder: Path, output: Path, seed: int, quiet: bool, **given: Any) -> None:
    """Train the supervised baseline on a language model."""
    need_torch()
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.evaluate import hear, measured
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Interview
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import open_model, save_model
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.sft import Tuning, tune

    refuse_existing(output)
    asking = asking_from(given)
    training, held_out = questions_from(given, asking.language, seed)
    device, dtype, threads = (given.pop(name) for name in ("device", "dtype", "threads"))
    tuning = Tuning(seed=seed, **given)
    loaded = open_model(folder, device, dtype)
    use_threads(threads)
    before = measured(hear(loaded, held_out, asking, "dual"))
    with ProgressLine("fine-tuning", tuning.steps, style_for(quiet), priced=False) as line:
        tune(Interview(loaded, training, asking), tuning, line.update)
    with making_folder(output) as temporary:
        save_model(loaded, temporary)
    after = measured(hear(loaded, held_out, asking, "dual"))
    print_estimates("model", {"base": before, "tuned": after})
    printing.written(output)


@click.command()
@click.option("--base", type=FOLDER, required=True, help="Folder of the model before training.")
@click.option("--tuned", type=FOLDER, required=True, help="Folder of the model after.")
@options(QUESTIONS, ASKING, MODEL)
@click.option("--ratios", default="0-100/10", help="Percent of the weights: 0,10,50 or 0-100/10.")
@click.option("--side", type=click.Choice(("top", "bottom")), default="top")
@click.option(
    "--skip", multiple=True, help="Leave tensors whose name starts so as in the base; may be repeated."
)
@click.option("--output", type=FOLDER, help="New folder for the model patched with the last ratio.")
@quiet_option
@printing.json_option
def patch(base: Path, tuned: Path, output: Path | None, quiet: bool, **given: Any) -> None:
    """Put only the largest (or smallest) changes into the base, and ask again."""
    need_torch()
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.evaluate import hear, measured
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import open_model, save_model
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.patch import grid, patch_each

    if output is not None:
        refuse_existing(output)
    asking, ratios = asking_from(given), grid(given["ratios"])
    questions = one_set(given, asking.language)
    use_threads(given["threads"])
    before, after = (open_model(folder, given["device"], given["dtype"]) for folder in (base, tuned))
    found: dict[str, dict[str, Estimate]] = {}
    with ProgressLine("patched models", len(ratios), style_for(quiet), priced=False) as line:
        for ratio, count in patch_each(before.model, after.model, ratios, given["side"], given["skip"]):
            name = f"{given['side']} {100 * ratio:g} % ({count:,} weights)"
            found[name] = measured(hear(after, questions, asking, "dual"))
            line.update(len(found))
    print_estimates("weights changed", found)
    if output is not None:
        with making_folder(output) as temporary:
            save_model(after, temporary)
        printing.written(output)


@click.command()
@folder_option
@options(QUESTIONS, ASKING, MODEL)
@click.option(
    "--setting",
    "settings",
    type=click.Choice(("dual", "threshold", "idk")),
    multiple=True,
    default=("dual",),
    help="May be repeated.",
)
@click.option("--output", type=FOLDER, help="Folder for one TSV per setting, a row for each question.")
@quiet_option
@printing.json_option
def evaluate(folder: Path, settings: tuple[Any, ...], output: Path | None, quiet: bool, **given: Any) -> None:
    """Ask a language model, and print what its yes and no are worth."""
    need_torch()
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.evaluate import (
        all_alignment,
        hear,
        measured,
        table,
        write_table,
    )
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import open_model

    asking = asking_from(given)
    questions = one_set(given, asking.language)
    use_threads(given["threads"])
    loaded = open_model(folder, given["device"], given["dtype"])
    heard = {}
    with ProgressLine("settings", len(settings), style_for(quiet), priced=False) as line:
        for setting in dict.fromkeys(settings):
            heard[setting] = hear(loaded, questions, asking, setting)
            line.update(len(heard))
            if output is not None:
                write_table(output / f"{setting}.tsv", table(questions, heard[setting]))
    found = {setting: measured(said) for setting, said in heard.items()}
    print_estimates("setting", found)
    if {"dual", "idk"} <= heard.keys():
        share = str(all_alignment(heard["dual"], heard["idk"]))
        printing.say(f"all alignment: {share}", all_alignment=share)
    if output is not None:
        printing.written(output)


def use_threads(threads: int) -> None:
    """Set the threads of this process."""
    import torch

    torch.set_num_threads(threads)


def refuse_existing(output: Path) -> None:
    """Raise `StudyError` where something would be written over."""
    if output.exists():
        raise StudyError(f"{output}: is there already; take another folder")


def print_estimates(first: str, found: Mapping[str, Mapping[str, Estimate]]) -> None:
    """Print a line per label with each measure and its interval; as data a row per label and measure.

    Where d′ is not there, or its size is the correction's, its status stands at the end of the line.
    """
    names = list(dict.fromkeys(name for each in found.values() for name in each))
    lines = tuple(
        (label, max(e.n for e in each.values()), *(shown(each.get(name)) for name in names), each[D].status)
        for label, each in found.items()
    )
    data = tuple(
        (label, name, e.value, e.low, e.high, e.n, e.status)
        for label, each in found.items()
        for name, e in each.items()
    )
    columns = (first, "measure", "estimate", "low", "high", "n", "status")
    printing.table("measures", Rows(columns, data), Rows((first, "n", *names, f"status of {D}"), lines))


@click.command("study")
@click.argument("study_file", metavar="STUDY", type=FOLDER)
@click.option(
    "--patch-curve",
    is_flag=True,
    help="A run in float32 and one in bfloat16, with only the largest changes kept.",
)
@click.option("--ablations", is_flag=True, help="Every reward and the supervised baselines, over seeds.")
@click.option("--generalisation", is_flag=True, help="Base and trained on every question set and language.")
@click.option("--seeds", type=click.IntRange(1), default=3, help="Of the ablations.")
@click.option("--sft-steps", "steps", type=click.IntRange(1), default=1000)
@quiet_option
@printing.json_option
def train_study(study_file: Path, quiet: bool, seeds: int, steps: int, **asked: bool) -> None:
    """Do what the study's [training] says: base, evolution, evaluation; what is done already is not done again.

    With --patch-curve, --ablations or --generalisation it answers these questions instead, each as a table and a picture in
    the study's home.
    """
    need_torch()
    from metacog_pipeline.benchmarks.selfknowledge.training import open_questions, stage
    from metacog_pipeline.benchmarks.selfknowledge.training.toy.base import STEPS
    from metacog_pipeline.study import load_study

    study = load_study(study_file)
    stage.settings(study)
    open_questions.check_asked(study, asked)
    study.prepare()
    with ProgressLine("base model", STEPS, style_for(quiet), priced=False) as line:
        stage.make_base(study, line.update)
    if any(asked.values()):
        _answer(study, asked, seeds, steps, quiet)
        return
    with ProgressLine("evolution", stage.settings(study).generations, style_for(quiet), priced=False) as line:
        made = stage.make_checkpoint(study, line.update)
    table = stage.make_evaluation(study).table
    assert table is not None
    columns = ("model", "measure", "estimate", "low", "high", "n")
    printing.table("measures", Rows(columns, tuple(table.select(columns).iter_rows())))
    printing.written(Path(str(made.facts["checkpoint"])))


def _answer(study: Study, asked: Mapping[str, bool], seeds: int, steps: int, quiet: bool) -> None:
    """Answer the questions asked for; print and draw each."""
    from metacog_pipeline.benchmarks.selfknowledge.training import open_figures, open_questions, stage

    answers: dict[str, tuple[int, Callable[[Any], Any]]] = {
        "patch_curve": (2, lambda done: open_questions.patch_curve(study, done)),
        "ablations": (seeds, lambda done: open_questions.ablations(study, seeds, steps, done)),
        "generalisation": (2, lambda done: open_questions.generalisation(study, done)),
    }
    for name, (units, answer) in answers.items():
        if asked[name]:
            with ProgressLine(name.replace("_", " "), units, style_for(quiet), priced=False) as line:
                table = answer(line.update)
            printing.table(name, Rows(tuple(table.columns), tuple(table.iter_rows())))
            picture = stage.folder(study) / f"{name}.svg"
            printing.written(open_figures.draw(picture, name, table))
            printing.written(stage.folder(study) / f"{name}.parquet")
