"""A new study file, written as TOML: of models and benchmarks named on the command line, or of any data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from metacog_pipeline import registry
from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.llm.spec import KEY_VARIABLES as PAID
from metacog_pipeline.ports import LOOPBACK_NAMES

WITH_MODEL = (*PAID, "transformers")
PROVIDERS = (*WITH_MODEL, "replay", "simulated")
HEAD = """# A study: models to ask, what to measure, what to spend. docs/study.md has every key.
# Prices are dollars per million tokens; keys come from environment variables (api_key_env names another one).
# Every benchmark begins small: take "sample" and limit out for the published items, name your own files in items.

"""
_AT = re.compile(r"@(?=https?:)")  # ids of models may hold an @ too
_ADDRESS = re.compile(r"https?://(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d+)?(?:/\S*)?")


@dataclass(frozen=True, slots=True)
class Row:
    """One ``[[models]]`` row: the parts of PROVIDER:MODEL@ADDRESS, its price per million tokens in and out, its key."""

    provider: str
    model: str | None
    base_url: str | None
    price: tuple[float, float] | None = None
    key: str | None = None  # the NAME of the variable with its key, where it is not the provider's usual one

    @property
    def billed(self) -> bool:
        """Whether answers may cost money: a provider's own address, or one on another machine."""
        host = None if self.base_url is None else urlsplit(self.base_url).hostname
        return self.provider in PAID and host not in LOOPBACK_NAMES

    @property
    def usual_key(self) -> str | None:
        """The provider's usual variable, at its own address; another server has none."""
        return PAID.get(self.provider) if self.base_url is None else None

    @property
    def name(self) -> str:
        """A name the study may use: of the model as the provider calls it."""
        return slug((self.model or self.provider).rstrip("/").rsplit("/", 1)[-1], self.provider)[:60]

    def table(self, name: str) -> dict[str, Any]:
        """The row under a name no other has."""
        found: dict[str, Any] = {"name": name, "provider": self.provider, "model": self.model}
        if self.provider in PAID:
            price_in, price_out = (self.price if self.billed else None) or (0.0, 0.0)
            found |= {
                "base_url": self.base_url,
                "api_key_env": self.key,
                "price_in": price_in,
                "price_out": price_out,
            }
        return found


def slug(text: str, nameless: str = "model") -> str:
    """Return the name of a model as study files have them; ``nameless`` where no character of it can be in one."""
    return re.sub(r"[^a-z0-9._-]+", "-", text.casefold()).strip("-._")[:64] or nameless


def study_name(path: Path) -> str:
    """Return the name of a study whose file this is."""
    return re.sub(r"[^A-Za-z0-9 ._-]+", "-", path.stem).strip("-._ ") or "study"


def row_of(said: str) -> Row:
    """Return the row of PROVIDER:MODEL@ADDRESS; a StudyError says what is wrong with it."""
    provider, _, rest = said.partition(":")
    if provider not in PROVIDERS:
        raise StudyError(
            f'--model "{said}": no provider "{provider}"{suggestion(provider, PROVIDERS)}; '
            f"give one of {', '.join(PROVIDERS)}, as openai:MODEL"
        )
    model, *address = _AT.split(rest, maxsplit=1)
    if (provider in WITH_MODEL) != bool(model):
        needed = f"its name, as {provider}:MODEL" if provider in WITH_MODEL else f"{provider} alone"
        raise StudyError(f'--model "{said}": give {needed}')
    if address and (provider not in PAID or not _ADDRESS.fullmatch(address[0])):
        raise StudyError(
            f'--model "{said}": "{address[0]}" is no address of a server, as in openai:MODEL@http://HOST:PORT/v1'
        )
    return Row(provider, model or None, address[0] if address else None)


def chosen_benchmarks(said: Sequence[str]) -> list[str]:
    """Return the benchmarks named, all installed ones for none or ``all``; a StudyError names an unknown one."""
    named = [name for each in said for name in each.replace(",", " ").split()]
    known = registry.names()
    if named in ([], ["all"]):
        return list(known)
    for name in named:
        if name not in known:
            near = f"{suggestion(name, known)}; installed are: {', '.join(known)}"
            raise StudyError(f'--benchmark "{name}": no such benchmark{near}')
    return list(dict.fromkeys(named))


def study_text(path: Path, rows: Sequence[Row], benchmarks: Sequence[str], budget: float | None) -> str:
    """Return the study file."""
    different = list(dict.fromkeys(rows))  # two whose names are written alike get numbers
    names = [row.name for row in different]
    numbered = {row: names[: n + 1].count(row.name) for n, row in enumerate(different)}
    models = [row.table(row.name + (f"-{numbered[row]}" if numbered[row] > 1 else "")) for row in rows]
    study = {"name": study_name(path), "runs": 1, "seed": 0, "budget_usd": budget}
    return HEAD + toml_text(
        {"study": study, "models": models, "benchmarks": {each: _start_of(each) for each in benchmarks}}
    )


def toml_text(table: Mapping[str, Any]) -> str:
    """Return ``table`` as TOML; None means no key."""
    import tomlkit  # late: only who writes a study waits for it

    return tomlkit.dumps(_without_none(table))


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    return [_without_none(each) for each in value] if isinstance(value, list | tuple) else value


def _start_of(benchmark: str) -> dict[str, Any]:
    """The keys a benchmark begins with: its sample items where it has some, else a few of its published ones."""
    settings = registry.part(benchmark, "Settings")
    fields = settings.model_fields
    if settings.takes_questions and "items" in fields:
        return {"items": "sample"}
    if "dataset" in fields and "sample" in getattr(fields["dataset"].annotation, "__args__", ()):
        return {"dataset": "sample"}
    return {"limit": 20} if "limit" in fields else {}
