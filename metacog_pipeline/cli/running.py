"""``plan``, ``run``, ``demo``, ``ui`` and ``serve``."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

import click

from metacog_pipeline.asking.endings import REASK, UNUSABLE, WATCH_PARENT, heard
from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import PATH, opened, port_option, quiet_option, study_argument
from metacog_pipeline.errors import MetacogError, StudyError, suggestion
from metacog_pipeline.files import shipped
from metacog_pipeline.ports import LOOPBACK_NAMES, UI_HOST, UI_PORT, port_for
from metacog_pipeline.progress import ENVIRONMENT, Style, style_for
from metacog_pipeline.study import Study, load_study

SIGNALLED = 128  # a process ended by signal n is reported as 128 + n
_UNGUARDED = (
    "warning: whoever reaches {host}:{port} can start runs that spend money, there is no password; "
    "put a proxy that asks for one in front"
)
_DONE = """\

{verdict}
This is the sample set with simulated respondents, not a result about any real model.
Report:       {report}
Study file:   {study}
DuckDB file:  {duckdb}
Dagster UI:   metacog ui {study}
Next: metacog board --all --study {study}"""


@click.command()
@study_argument
@printing.json_option
def plan(study_file: Path) -> None:
    """Print calls, tokens and dollars before a cent is spent.

    One row per model and benchmark: what is already answered, what is left to ask, and what it would cost, expected to at
    most. Below: whether the budget is enough, and calls in batches. Asks no model; `metacog doctor` checks that they can be
    asked.
    """
    from metacog_pipeline.asking.plan import plan_study

    study = opened(study_file)
    result = plan_study(study)
    name, rows = study.study.name, [asdict(row) for row in result.rows]
    printing.records(rows, f"Plan for {name}")
    printing.say("\n".join(result.notes), study=name, rows=rows, notes=result.notes)
    printing.next_step("run", study_file)


@click.command()
@study_argument
@click.option("--benchmark", "benchmarks", multiple=True, help="Only this benchmark (repeatable).")
@click.option("--model", "models", multiple=True, help="Only this model (repeatable).")
@click.option("--run", "runs", multiple=True, type=click.IntRange(1, 99), help="Only this run (repeatable).")
@click.option("--force", is_flag=True, help="Score again what is up to date; answers are never asked again.")
@click.option("--reask", type=click.Choice([UNUSABLE]), help="Ask again; old answers are kept.")
@click.option("--detach", is_flag=True, help="Queue it as backfills for Dagster's daemon and return.")
@quiet_option
@printing.json_option
def run(study_file: Path, force: bool, detach: bool, quiet: bool, **given: Any) -> None:
    """Ask what is missing, score it, rebuild the boards.

    Launches Dagster runs, visible in the UI. What is up to date is left alone; a model that fails does not stop
    the others and is named at the end (exit code 7). A model with lane = "batch" is asked through its provider's batches,
    which may take a day: the command submits them and ends (exit code 9); run it again, nothing is submitted twice.

    --reask unusable asks what was answered with nothing to read, or cut after thinking. With --detach, and where [deploy]
    gives runs to workers, backfills are queued, one per benchmark, that Dagster's daemon works off with the executor of
    [deploy].
    """
    study = opened(study_file)
    reask = given.pop("reask")
    refuse_unknown(study, **given)
    queued = detach or study.deploy.queued
    if queued and reask:
        raise click.UsageError("--reask concerns this process, and workers run the study; leave it out")
    os.environ.update({REASK: reask} if reask is not None else {})
    if not force and nothing_to_do(study, quiet):
        return _say_state(study, 0)
    # under a budget nothing without a price is asked
    if not quiet and study.study.budget_usd is None:
        from metacog_pipeline.asking.doctor import price_finding

        for found in (price_finding(study, spec) for spec in study.askable):
            if found.state == "warn":
                click.echo(f"metacog: {found.subject} {found.text}", err=True)
    code = launch(study, **given, flags={"--force": force, "--detach": queued}, quiet=quiet)
    _say_state(study, code)
    if code == 0 and not quiet:
        printing.next_step("board", "--study", study_file)
    sys.exit(code)


def _say_state(study: Study, code: int) -> None:
    """With --json, print how far the study is after a run."""
    if printing.wanted():
        from metacog_pipeline.cli.status import state_of

        printing.value({"exit_code": code, **state_of(study)})


@click.command()
@click.option("--folder", type=PATH, default=Path("metacog-demo"), help="Where the demo study is put.")
@quiet_option
@printing.json_option
def demo(folder: Path, quiet: bool) -> None:
    """Run the demo: simulated models answer sample questions, through Dagster, to a leaderboard.

    The study file is copied into the folder; edit it and use `metacog run` to go on from there.
    """
    from metacog_pipeline.cli.boards import printed_verdict
    from metacog_pipeline.leaderboard.output import objects
    from metacog_pipeline.leaderboard.read import verdict_rows

    study_file = folder / "study.toml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not study_file.exists():
            shutil.copyfile(shipped("data", "demo", "study.toml"), study_file)
    except OSError as error:
        raise StudyError(f"--folder {folder}: {error.strerror}; give a folder you can write to") from None
    study = load_study(study_file)
    code = 0 if nothing_to_do(study, quiet) else launch(study, quiet=quiet)
    if code:
        sys.exit(code)
    if quiet and not printing.wanted():
        return
    made = {"report": study.home.page, "study": study_file, "duckdb": study.home.leaderboard}
    said = _DONE.format(verdict=printed_verdict(study.home), **made)
    facts = {name: str(path) for name, path in made.items()}
    printing.say(said, verdict=objects(verdict_rows(study.home)), **facts)


@click.command()
@study_argument
@port_option(UI_PORT)
@click.option("--host", default=UI_HOST, help="Address the web server listens on.")
@printing.json_option
def ui(study_file: Path, port: int, host: str) -> None:
    """Open the Dagster UI on a study; stop it with Ctrl-C.

    This is `dagster dev` with the study's own history: web server and daemon.
    """
    study = opened(study_file)
    study.deploy.check()
    if find_spec("dagster_webserver") is None:
        raise StudyError("metacog ui: dagster-webserver is not installed; pip install 'metacog-pipeline[ui]'")
    port = port_for(host, port)
    study.prepare()
    if host not in LOOPBACK_NAMES:
        click.echo(_UNGUARDED.format(host=host, port=port), err=True)
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    boards, runs = f"{address}/assets/leaderboard", f"{address}/runs"
    said = f"Dagster UI of {study.study.name}: {address}\n  boards: {boards}\n  runs of metacog run: {runs}"
    printing.say(said, address=address, boards=boards, runs=runs)
    printing.flush()
    # Dagster imports from its working directory before anything else; nothing of the user's lies there.
    where = ["--working-directory", str(study.home.dagster), "--port", str(port), "--host", host]
    dagster = [sys.executable, "-W", "ignore", "-m", "dagster", "dev", "-m", "metacog_assets.definitions"]
    # A job in the background of a script ignores Ctrl-C, which Dagster's processes would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.execve(sys.executable, [*dagster, *where], environment_of(study, "lines"))


@click.command()
@port_option(8765)
@click.option("--latency", default=0.0, help="Seconds before each answer.")
@printing.json_option
def serve(port: int, latency: float) -> None:
    """Answer OpenAI chat completions on this machine, for a first try over HTTP without a key.

    Point a model at it with provider = "openai", base_url = "http://127.0.0.1:PORT/v1" and any model id. Answers fit what
    is asked for and mean nothing; a model with provider = "simulated" answers like somebody, without a server.
    """
    from metacog_pipeline.llm import serve as server

    answers = server.application(latency_s=latency)
    try:
        server.serve(answers, port, printing.announce)
    except OSError as error:
        raise StudyError(f"--port {port}: {error.strerror or error}; choose another") from None


def refuse_unknown(
    study: Study, benchmarks: Sequence[str], models: Sequence[str], runs: Sequence[int]
) -> None:
    """Raise StudyError with the first benchmark, model or run that the study does not have."""
    for name in models:
        study.model(name)
    known = study.enabled
    for name in benchmarks:
        if name not in known:
            near = f"{suggestion(name, known)}; it has: {', '.join(known)}"
            raise StudyError(f'--benchmark "{name}": not enabled in {study.path.name}{near}')
    for number in runs:
        if number not in study.runs:
            raise StudyError(f"--run {number}: the study has runs 1 to {study.study.runs}; raise study.runs")


def nothing_to_do(study: Study, quiet: bool) -> bool:
    """Whether nothing is stale; reports so. No process is started to see it, and no Dagster is loaded."""
    from metacog_pipeline.scoring import staleness

    try:
        found = study.home.dagster.exists() and not staleness.stale(study)
    except MetacogError:
        return False  # the run reports what is wrong
    if found and not quiet:
        click.echo("everything is up to date; nothing was asked", err=True)
    return found


def launch(
    study: Study,
    *,
    benchmarks: Sequence[str] = (),
    models: Sequence[str] = (),
    runs: Sequence[int] = (),
    flags: Mapping[str, bool] | None = None,
    quiet: bool = False,
) -> int:
    """Run the study in a process of its own, where Dagster is loaded; return its exit code."""
    study.deploy.check()
    study.prepare()
    command = [sys.executable, "-m", "metacog_assets"]
    for flag, values in (("--benchmark", benchmarks), ("--model", models), ("--run", runs)):
        for value in values:
            command += [flag, str(value)]
    command += [flag for flag, given in {**(flags or {}), "--quiet": quiet}.items() if given]
    return call(command, environment_of(study, style_for(quiet)) | {WATCH_PARENT: "1"})


def environment_of(study: Study, style: Style) -> dict[str, str]:
    """Return the environment of a process that works on a study."""
    return {
        # its own pool keeps some 35 MB of what was freed; a user's choice counts
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        **os.environ,
        "METACOG_STUDY": str(study.path),
        "DAGSTER_HOME": str(study.home.dagster),
        ENVIRONMENT: style,
        "PYTHONUNBUFFERED": "1",
        # a polars.py in the folder of the user is not imported
        "PYTHONSAFEPATH": "1",
    }


def call(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command in a session of its own and pass interrupts on to it; return its exit code."""
    child: subprocess.Popen[bytes] | None = None
    pressed = 0

    def pass_on(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed += 1
        if child is not None:
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(signal.SIGINT)

    # Set before it starts they also give it the default handlers, which a job in the background would not inherit.
    before = {number: signal.signal(number, pass_on) for number in heard()}
    try:
        # only the JSON on standard output
        out = sys.stderr.fileno() if printing.wanted() else None
        # In a session of its own it hears of an interrupt once and from here, whoever sent it.
        child = subprocess.Popen(command, env=dict(environment), start_new_session=True, stdout=out)
        if pressed:
            child.send_signal(signal.SIGINT)
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else SIGNALLED - code
