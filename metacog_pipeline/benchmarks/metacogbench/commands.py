"""``metacog metacogbench``: skim the items, make new ones, have people label replies."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from metacog_pipeline.benchmarks.metacogbench.audit_commands import audit
from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of, to_toml
from metacog_pipeline.benchmarks.metacogbench.generators import making
from metacog_pipeline.benchmarks.metacogbench.generators.making import GENERATORS
from metacog_pipeline.benchmarks.metacogbench.items import SETS, TIERS, Item, item_record
from metacog_pipeline.cli import printing
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import write_text
from metacog_pipeline.leaderboard.output import Format, Rows, render

WIDTH = 100
FORMATS = ("text", "table", "csv", "json", "toml")
_COLUMNS = ("item_id", "tier", "kind", "level", "rule", "answer", "words", "stem")
_ASKED = ("answer and bet", "predict, then perform", "analyse and recommend", "hold a claim", "solve a story")
_TITLES = {tier: f"Tier {tier}: {asked}" for tier, asked in zip(TIERS, _ASKED, strict=True)}
_SET_HELP = "Which set."


@click.group()
def metacogbench() -> None:
    """Skim the items of MetaCog-Bench; make new ones from a seed; hold the scorers against people."""


metacogbench.add_command(audit)


@metacogbench.command(name="list")
@click.option(
    "--set", "item_set", type=click.Choice(SETS), default=SETS[0], show_default=True, help=_SET_HELP
)
@click.option("--tier", type=click.Choice(TIERS), help="One tier only.")
@printing.format_option(
    *FORMATS, text="text: to read; table and csv: a line per item; json and toml: everything."
)
def list_command(item_set: str, tier: str | None, form: str) -> None:
    """Print the items with their answers, for people who review them."""
    items = [item for item in items_of(item_set) if tier in (None, item.tier)]
    click.echo(_shown(items, form), nl=False)


@metacogbench.command()
@click.option("--tier", type=click.Choice(tuple(GENERATORS)), required=True, help="Which kind of items.")
@click.option("--seed", type=click.IntRange(0), required=True, help="Equal seeds make equal items.")
@click.option("--generator", "generators", multiple=True, help="Only this generator; may be given again.")
@click.option(
    "--output", type=click.Path(path_type=Path), help="Write TOML to this file instead of printing."
)
@printing.format_option(*FORMATS, default="toml", text="How to print them.")
def generate(tier: str, seed: int, generators: tuple[str, ...], output: Path | None, form: str) -> None:
    """Make fresh items, one per generator: no model can have seen them.

    Every answer is computed twice by different algorithms.

    \b
    metacog metacogbench generate --tier 3 --seed 7
    metacog metacogbench generate --tier 1b --seed 7 --generator collatz --format text
    """
    items = making.generate(tier, seed, generators=generators)
    if output is None:
        click.echo(_shown(items, form), nl=False)
        return
    try:
        write_text(output, to_toml(items, f"Tier {tier}, seed {seed}"))
    except OSError as error:
        told = f"--output {output}: cannot be written ({error.strerror}); name another file"
        raise StudyError(told) from None
    printing.say(f"{output}: {len(items)} items", items=len(items), wrote=[str(output)])


def _shown(items: list[Item], form: str) -> str:
    if form == "text":
        return "\n".join(_catalogue(items)) + "\n"
    if form == "toml":
        return to_toml(items, "Items of MetaCog-Bench")
    if form == "json":
        records = [{**item_record(item), "item_hash": item.item_hash} for item in items]
        return json.dumps(records, indent=1, ensure_ascii=True) + "\n"
    kind: Format = "table" if form == "table" else "csv"
    return render(Rows(_COLUMNS, tuple(_row(item) for item in items)), kind)


def _row(item: Item) -> tuple[object, ...]:
    kind = item.family or item.structure or item.domain
    stem = textwrap.shorten(item.stem, 70, placeholder=" …")
    level = item.level or item.difficulty
    key = textwrap.shorten(_key(item), 50, placeholder=" …")
    return item.item_id, item.tier, kind, level, item.bet_rule, key, len(item.stem.split()), stem


def _key(item: Item) -> str:
    if item.tier == "3":
        return "; ".join(f"{field.name} = {_plain(field.value)}" for field in item.fields)
    if item.tier == "2a":
        return f"{item.computed_answer:g} {item.unit}"
    if item.tier == "2b":
        return item.core_claim
    return "no answer" if item.answer is None else f"{item.answer} {item.unit}".strip()


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _catalogue(items: Iterable[Item]) -> Iterator[str]:
    tier = ""
    for item in items:
        if item.tier != tier:
            tier = item.tier
            yield from ("", _TITLES[tier], "=" * len(_TITLES[tier]))
        about = (item.family, item.structure, item.domain, item.level, item.difficulty, item.bet_rule)
        yield from ("", f"{item.item_id}  [{', '.join(filter(None, about))}]")
        for line in item.stem.splitlines():
            yield textwrap.fill(line, WIDTH, initial_indent="    ", subsequent_indent="    ")
        yield from (f"  {line}" for line in _details(item))


def _details(item: Item) -> Iterator[str]:
    if item.tier == "2b":
        yield from (f"claim: {item.core_claim}", f"true limitation: {item.valid_point}")
        yield from (f"gives in: {item.overcorrection}", f"second turn: {item.turn2}")
        return
    if item.tier == "3":
        yield from (
            f"{'* ' if field.core else ''}{field.name} = {_plain(field.value)} {field.unit}".rstrip()
            for field in item.fields
        )
        return
    yield f"answer: {_key(item)}"
    if item.tier == "2a":
        yield f"naive: {item.trap}"
        yield f"factors: {'; '.join(factor.label for factor in item.factors)}"
    if item.bet_rule:
        yield f"bet: {item.bet_rule}" + "".join(
            f", {name} {value:g}" for name, value in (("hi", item.hi), ("lo", item.lo)) if value is not None
        )
    if item.twin_of:
        yield f"twin of: {item.twin_of}"
