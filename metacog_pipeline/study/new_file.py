"""A new study file: models and benchmarks named on the command line, written as TOML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from metacog_pipeline import registry
from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.llm.wire.address import KEY_VARIABLES as PAID
from metacog_pipeline.ports import LOOPBACK_NAMES
from metacog_pipeline.study.text import toml_text

WITH_MODEL = (*PAID, "transformers")
PROVIDERS = (*WITH_MODEL, "replay", "simulated")

HEAD = """# A study: whom to ask, what to measure, what to spend. docs/study.md has every key.
# Prices are dollars per million tokens; keys come from environment variables (api_key_env names another one).
# Every benchmark begins small: take "sample" and limit out for the published items, name your own files in items.

"""
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

    def table(self, name: str) -> dict[str, Any]:
        """The row under a name no other has."""
        price = (
            ((self.price if self.billed else None) or (0.0, 0.0)) if self.provider in PAID else (None, None)
        )
        own = {"provider": self.provider, "model": self.model, "base_url": self.base_url}
        return {"name": name, **own, "price_in": price[0], "price_out": price[1]}


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
        needed = f"its name, as {provider}:MODEL" if provider in WITH_MODEL else f"{provider} alone"
        raise StudyError(f'--model "{said}": give {needed}')
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
    known = registry.names()
    for name in named if named != ["all"] else ():
        if name not in known:
            raise StudyError(
                f'--benchmark "{name}": no such benchmark{suggestion(name, known)}; '
                f"installed are: {', '.join(known)}"
            )
    return list(known) if named in ([], ["all"]) else list(dict.fromkeys(named))


def study_text(path: Path, rows: Sequence[Row], benchmarks: Sequence[str], budget: float | None) -> str:
    """Return the study file."""
    taken: dict[str, list[Row]] = {}
    models = []
    for row in rows:
        alike = taken.setdefault(row.name, [])
        if row not in alike:  # the same model twice is a mistake, two whose names are written alike are none
            alike.append(row)
        place = alike.index(row) + 1
        models.append(row.table(row.name if place == 1 else f"{row.name}-{place}"))
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._") or "study"
    study = {"name": name, "runs": 1, "seed": 0, "budget_usd": budget}
    tables = {each: _start_of(each) for each in benchmarks}
    return HEAD + toml_text({"study": study, "models": models, "benchmarks": tables})


def _start_of(benchmark: str) -> dict[str, Any]:
    """The keys a benchmark begins with: its sample items where it has some, else a few of its published ones."""
    settings = registry.part(benchmark, "Settings")
    fields = settings.model_fields
    if settings.takes_questions and "items" in fields:
        return {"items": "sample"}
    sets = getattr(fields["dataset"].annotation, "__args__", ()) if "dataset" in fields else ()
    if "sample" in sets:
        return {"dataset": "sample"}
    return {"limit": 20} if "limit" in fields else {}
