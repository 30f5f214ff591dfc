"""``power``: how many trials a difference in M-ratio, d′ or the criterion takes."""

from __future__ import annotations

import re

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import quiet_option
from metacog_pipeline.errors import StudyError
from metacog_pipeline.leaderboard.output import Format, Rows, render
from metacog_pipeline.progress import ProgressLine, style_for
from metacog_pipeline.stats.power import (
    MOST_STEPS,
    QUANTITIES,
    SIMULATIONS,
    Design,
    Power,
    Quantity,
    simulated_power,
    trials_needed,
)

FORMATS: tuple[Format, ...] = ("table", "csv", "json")
TARGET = 0.8
_PARAMETER = re.compile(
    r"(d|m_ratio|delta|c|ratings|alpha|trials|simulations|power) (is needed|is|follows)\b"
)


@click.command()
@click.option("--d", "d", type=float, required=True, help="d′ of the first observer.")
@click.option("--mratio", type=float, default=1.0, help="Its M-ratio, meta-d′ / d′; 1 is optimal.")
@click.option("--delta", type=float, help="How much more of the quantity the second observer has.")
@click.option(
    "--quantity",
    type=click.Choice(QUANTITIES),
    default="mratio",
    help="What differs: M-ratio, d′ or criterion of two observers; optimality: one M-ratio against 1.",
)
@click.option("--trials", type=int, help="Trials per observer: print the power they give.")
@click.option(
    "--power", "target", type=float, help=f"Wanted power: print the trials it takes.  [default: {TARGET}]"
)
@click.option("--c", "c", type=float, default=0.0, help="Criterion of the first observer.")
@click.option("--ratings", type=int, default=5, help="Confidence levels, 2 to 20.")
@click.option("--alpha", type=float, default=0.05, help="Of the two-sided test.")
@click.option(
    "--simulations", type=int, default=SIMULATIONS, help="Simulated experiments per number of trials."
)
@click.option("--seed", type=int, default=0, help="Of the simulation.")
@printing.format_option(*FORMATS)
@quiet_option
def power(
    d: float,
    mratio: float,
    delta: float | None,
    quantity: Quantity,
    trials: int | None,
    target: float | None,
    c: float,
    ratings: int,
    alpha: float,
    simulations: int,
    seed: int,
    form: Format,
    quiet: bool,
) -> None:
    """Plan an experiment: its power, or the trials it takes.

    Observers with independent trials and known d′, M-ratio and criterion are simulated, measured and tested as real data
    are. The interval is that of the simulated share.

    \b
    metacog power --d 1.5 --mratio 0.8 --delta 0.1
    metacog power --d 1.5 --mratio 0.8 --delta 0.1 --trials 2000
    metacog power --d 1.5 --mratio 0.8 --quantity optimality
    """
    if trials is not None and target is not None:
        raise StudyError("--trials and --power: give one of them, the other is what is looked for")
    if delta == 0:
        raise StudyError("--delta 0: there is nothing to detect; give the difference that matters")
    try:
        design = Design(quantity, d, mratio, delta, c, ratings, alpha)
        if trials is not None:
            found, status = simulated_power(design, trials, simulations=simulations, seed=seed), "ok"
        else:
            wanted = TARGET if target is None else target
            found, status = _search(design, wanted, simulations, seed, quiet)
    except ValueError as error:
        raise StudyError(f"power: {_as_typed(str(error))}") from None
    rows = _rows(design, found, status)
    click.echo(render(_upright(rows) if form == "table" else rows, form), nl=False)


def _as_typed(said: str) -> str:
    """Return what is wrong with a design in the names of this command's options."""
    found = _PARAMETER.match(said)
    if found is None:
        return said
    example = (
        "; give how much more the second observer has, as in --delta 0.1" if found[2] == "is needed" else ""
    )
    return f"--{found[1].replace('m_ratio', 'mratio')} {found[2]}{said[found.end() :]}{example}"


def _search(design: Design, wanted: float, simulations: int, seed: int, quiet: bool) -> tuple[Power, str]:
    with ProgressLine("numbers of trials tried", MOST_STEPS, style_for(quiet)) as line:
        needed = trials_needed(
            design, wanted, simulations=simulations, seed=seed, progress=lambda done, _: line.update(done)
        )
    if needed.found is None:
        raise StudyError(
            f"power: {needed.status} per observer are needed for power {wanted:g}: plan for a larger difference"
        )
    return needed.found, needed.status


def _rows(design: Design, found: Power, status: str) -> Rows:
    share = found.power
    row: dict[str, object] = {
        "quantity": design.quantity,
        "d": design.d,
        "mratio": design.m_ratio,
        "c": design.c,
        "delta": float(f"{design.difference:.12g}"),
        "ratings": design.ratings,
        "alpha": design.alpha,
        "trials_per_observer": found.trials,
        "trials_in_all": found.trials * len(design.observers),
        "power": share.value,
        "power_low": share.low,
        "power_high": share.high,
        "approximation": found.approximation,
        "untestable": found.untestable,
        "simulations": share.n,
        "status": status,
    }
    return Rows(tuple(row), (tuple(row.values()),))


def _upright(rows: Rows) -> Rows:
    """Return the one row as lines of name and value: sixteen columns fit no terminal."""
    return Rows(("", "value"), tuple(zip(rows.columns, rows.rows[0], strict=True)))
