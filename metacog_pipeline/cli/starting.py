"""``init``: a study file to begin with, from three questions or as many options."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import click

from metacog_pipeline import registry
from metacog_pipeline.cli import printing
from metacog_pipeline.errors import StudyError, one_line, suggestion
from metacog_pipeline.files import write_text
from metacog_pipeline.llm.spec import MOST_DOLLARS
from metacog_pipeline.llm.wire.address import KEY_VARIABLES as PAID
from metacog_pipeline.ports import LOOPBACK_NAMES
from metacog_pipeline.study import load_study
from metacog_pipeline.study.study_file import MOST_BUDGET

PROVIDERS = (*PAID, "transformers", "replay", "simulated")
WITH_MODEL = (*PAID, "transformers")
_BUDGET = 5.0  # dollars; a sample of every benchmark costs less with any model of 2026

Read = TypeVar("Read")

# What stands behind @ where it is an address, written well or not; model ids may hold an @ too.
_ADDRESS = re.compile(r"@(?:[a-z]+:/|//|localhost\b|(?:\d{1,3}\.){3}\d|[\w.-]+:\d+(?:/|\Z))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """One ``[[models]]`` row: PROVIDER:MODEL@ADDRESS taken apart, with the price of a million tokens in and out."""

    provider: str
    model: str | None
    base_url: str | None
    price: tuple[float, float] | None

    @property
    def billed(self) -> bool:
        """Whether answers may cost money: a provider's own address, or one on another machine."""
        host = None if self.base_url is None else _host(self.base_url)
        return self.provider in PAID and host not in LOOPBACK_NAMES

    @property
    def name(self) -> str:
        """A name the study may use: of the model as the provider calls it."""
        said = (self.model or self.provider).rstrip("/").rsplit("/", 1)[-1].lower()
        return re.sub(r"[^a-z0-9._-]+", "-", said).strip("-._")[:60] or self.provider

    def lines(self, name: str) -> list[str]:
        """The row as TOML, under a name no other has."""
        found = ["[[models]]", f"name = {_quoted(name)}", f"provider = {_quoted(self.provider)}"]
        if self.model is not None:
            found.append(f"model = {_quoted(self.model)}")
        if self.base_url is not None:
            found.append(f"base_url = {_quoted(self.base_url)}")
        if self.billed and self.base_url is None:
            found.append(
                f"# api_key_env = {_quoted(PAID[self.provider])}   # the variable that holds the key; never the key"
            )
        elif self.billed:
            found.append(
                '# api_key_env = "MY_KEY"   # the variable that holds the key, where the server wants one'
            )
        if self.provider in PAID:
            price = (self.price if self.billed else None) or (0.0, 0.0)
            found += [f"price_in = {price[0]!r}    # dollars per million tokens", f"price_out = {price[1]!r}"]
        if self.provider == "replay":
            found.append("# answers somebody already has: metacog import FILE --help")
        return found


@click.command()
@click.argument("study_file", metavar="[STUDY]", type=click.Path(path_type=Path), default=Path("study.toml"))
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="PROVIDER:MODEL",
    help="Whom to ask: openai:ID, anthropic:ID, gemini:ID, transformers:FOLDER, replay, simulated. "
    "With @ADDRESS for a server of your own (repeatable).",
)
@click.option(
    "--benchmark", "benchmarks", multiple=True, help="What to measure (repeatable); all by default."
)
@click.option(
    "--price",
    nargs=2,
    type=click.FloatRange(0, MOST_DOLLARS),
    help="Dollars per million tokens in and out, of every model that is billed.",
)
@click.option(
    "--budget",
    type=click.FloatRange(0, MOST_BUDGET),
    help=f"The most the study may ever spend, in dollars; {_BUDGET:g} where a model is billed and none is given.",
)
@printing.json_option
def init(
    study_file: Path,
    models: tuple[str, ...],
    benchmarks: tuple[str, ...],
    price: tuple[float, float] | None,
    budget: float | None,
) -> None:
    """Write a study file to begin with: what is not given as an option is asked on a terminal.

    Benchmarks begin with their sample items, where they have some, so that a first run costs little. An existing file is
    never overwritten. Check the study with `metacog doctor`, price it with `metacog plan`, start it with `metacog run`.
    """
    _require_new(study_file)
    asking = sys.stdin.isatty() and not printing.wanted()
    if not models and asking:
        rows = _asked(
            "Which model? (provider:model, several with blanks or commas)",
            lambda said: [row_of(each, price) for each in said.replace(",", " ").split()],
            default="simulated",
        )
    else:
        rows = [
            row_of(each.strip(), price)
            for said in models or ("simulated",)
            for each in re.split(r",\s+", said)
        ]
    if not benchmarks and asking:
        chosen = _asked(
            f"Which benchmarks? ({', '.join(registry.names())}, or all)",
            lambda said: chosen_benchmarks(said.split()),
            default="all",
        )
    else:
        chosen = chosen_benchmarks(benchmarks)
    billed = [row for row in rows if row.billed]
    if billed and price is None:
        if not asking:
            raise StudyError(
                f"--price: {billed[0].name} is billed; give dollars per million tokens in and out, as --price 2.5 10"
            )
        price = _asked("Dollars per million tokens, in and out? (as in 2.5 10)", _price)
        rows = [replace(row, price=price) for row in rows]
    if billed and budget is None:
        budget = _asked("The most to spend, in dollars?", _budget, default=_BUDGET) if asking else _BUDGET
    text = study_text(study_file, rows, chosen, budget)
    try:
        write_text(study_file, text)
    except OSError as error:
        raise StudyError(f"{study_file}: cannot be written ({error.strerror}); give another place") from None
    try:
        load_study(study_file)
    except StudyError:
        study_file.unlink()
        raise
    following = [f"metacog {each} {shlex.quote(str(study_file))}" for each in ("doctor", "plan", "run")]
    printing.say(f"Wrote {study_file}. Next: {', '.join(following)}", wrote=[str(study_file)], next=following)


def _require_new(path: Path) -> None:
    if path.is_dir():
        raise StudyError(f"{path}: is a folder; name the file to write, as {path / 'study.toml'}")
    if str(path) == "-":
        raise StudyError(
            '"-": a study is a file that other commands read again; give it a name, as study.toml'
        )
    if path.exists():
        raise StudyError(f"{path}: is there already; give another name, or remove it")


def _asked(question: str, read: Callable[[str], Read], default: object = None) -> Read:
    """Ask until the answer can be read, saying each time what is wrong with it."""
    while True:
        try:
            return read(str(click.prompt(question, default=default, type=str)))
        except click.Abort:
            click.echo("\nmetacog: interrupted; nothing was written", err=True)
            raise SystemExit(130) from None
        except StudyError as error:
            click.echo(f"metacog: {one_line(str(error))}", err=True)


def row_of(said: str, price: tuple[float, float] | None) -> Row:
    """Return the row that PROVIDER:MODEL@ADDRESS stands for; a StudyError says what is wrong with it."""
    provider, _, rest = said.partition(":")
    if provider not in PROVIDERS:
        raise StudyError(
            f'--model "{said}": no provider "{provider}"{suggestion(provider, PROVIDERS)}; '
            f"give one of {', '.join(PROVIDERS)}, as openai:MODEL"
        )
    model, at, address = rest.rpartition("@") if _ADDRESS.search(rest) else (rest, "", "")
    if (provider in WITH_MODEL) != bool(model):
        wanted = f"give its name, as {provider}:MODEL" if provider in WITH_MODEL else f"give {provider} alone"
        raise StudyError(f'--model "{said}": {wanted}')
    if at and (provider not in PAID or _host(address) is None):
        raise StudyError(
            f'--model "{said}": "{address}" is no address of a server, as in openai:MODEL@http://HOST:PORT/v1'
        )
    return Row(provider, model or None, address or None, price)


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:  # half a pair of brackets
        return None


def chosen_benchmarks(said: Sequence[str]) -> list[str]:
    """Return the benchmarks named, all installed ones for none or ``all``; a StudyError names an unknown one."""
    named = [name for each in said for name in each.replace(",", " ").split()]
    if not named or named == ["all"]:
        return list(registry.names())
    for name in named:
        if name not in registry.names():
            raise StudyError(
                f'--benchmark "{name}": no such benchmark{suggestion(name, registry.names())}; '
                f"installed are: {', '.join(registry.names())}"
            )
    return list(dict.fromkeys(named))


def study_text(path: Path, rows: Sequence[Row], benchmarks: Sequence[str], budget: float | None) -> str:
    """Return the study file."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._") or "study"
    lines = [
        "# A study: whom to ask, what to measure, what to spend. docs/study.md has every key.",
        "",
        "[study]",
        f"name = {_quoted(name)}",
        "runs = 1            # repeats of everything; 3 show how much answers vary",
        "seed = 0            # decides every draw",
        f"budget_usd = {budget!r}    # the most this study may ever spend"
        if budget is not None
        else "# budget_usd = 5.0   # the most this study may ever spend; models then need a price",
    ]
    taken: dict[str, list[Row]] = {}
    for row in rows:
        alike = taken.setdefault(row.name, [])
        if row not in alike:  # the same model twice is a mistake, two whose names are written alike are none
            alike.append(row)
        place = alike.index(row) + 1
        lines += ["", *row.lines(row.name if place == 1 else f"{row.name}-{place}")]
    for benchmark in benchmarks:
        lines += ["", f"[benchmarks.{benchmark}]", *_start_of(benchmark)]
    return "\n".join([*lines, ""])


def _start_of(benchmark: str) -> list[str]:
    """The keys a benchmark begins with: its sample items where it has some, else a few of its published ones."""
    settings = registry.load(benchmark).Settings
    fields = settings.model_fields
    if settings.takes_questions and "items" in fields:
        return [
            'items = "sample"   # your own: "my.jsonl" or "my.csv", with a question and its answer in each row'
        ]
    sets = getattr(fields["dataset"].annotation, "__args__", ()) if "dataset" in fields else ()
    if "sample" in sets:
        others = ", ".join(str(each) for each in sets if each != "sample")
        return [f'dataset = "sample"   # items that come with the program; there are also: {others}']
    if "limit" in fields:
        return ["limit = 20            # so many items; remove the line for all"]
    return []


def _price(said: str) -> tuple[float, float]:
    try:
        first, second = (float(each.strip("$,;")) for each in said.split())
    except ValueError:
        raise StudyError(f'price "{said}": give two numbers, dollars per million tokens in and out') from None
    if not (0 <= first <= MOST_DOLLARS and 0 <= second <= MOST_DOLLARS):
        raise StudyError(f'price "{said}": each is 0 to {MOST_DOLLARS} dollars per million tokens')
    return first, second


def _budget(said: str) -> float:
    try:
        dollars = float(said)
    except ValueError:
        dollars = -1.0
    if not 0 <= dollars <= MOST_BUDGET:
        raise StudyError(f'budget "{said}": give dollars, a number from 0 to {MOST_BUDGET}')
    return dollars


def _quoted(text: str) -> str:
    """A TOML basic string: the escapes of JSON are a subset of TOML's."""
    return json.dumps(text)
