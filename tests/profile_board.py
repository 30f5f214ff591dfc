"""A study whose models stand behind the profiles of the local provider, and the servers behind them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

from metacog_pipeline import registry
from metacog_pipeline.asking import construction, serving
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.asking.states import SessionResult
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.llm.server import FaultPlan
from metacog_pipeline.llm.server import profile as profiles
from metacog_pipeline.llm.types import Status, usable
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.transcripts.store import read_partition
from tests.asking_in_process import ask
from tests.simulated_server import ServerThread

KEY = "sk-simulated"
BENCHMARKS = ("metacogbench", "medley", "metamedqa", "selfknowledge", "signaldetection")
SERVED = "m"  # the id every profile serves its model under
#: Of the trial settings, fewer items where one more says nothing more about the provider.
FEWER: Mapping[str, Mapping[str, object]] = {
    "metamedqa": {"limit": 6},
    "metacogbench": {"limit": 2},
    "medley": {"limit": 2},
    "selfknowledge": {"limit": 4, "languages": ["en"]},
    "signaldetection": {"trials": 2},
}
#: Keys of a row of the study beside the address, where the provider is not reached as OpenAI is.
ROWS: Mapping[str, Mapping[str, object]] = {
    "anthropic": {"provider": "anthropic"},
    "anthropic-budget": {"provider": "anthropic"},
    "gemini": {"provider": "gemini"},
    "azure": {"api_version": "2025-04-01-preview"},
}
ROOTS = ("anthropic", "anthropic-budget", "gemini", "azure")  # addressed without /v1


@dataclass
class Board:
    """The study, the servers behind it, and what came of asking."""

    folder: Path
    servers: Mapping[str, ServerThread]
    outcomes: dict[tuple[str, str], SessionResult] = field(default_factory=dict)

    @property
    def study(self) -> Study:
        return load_study(self.folder / "study.toml")

    def partition(self, model: str, benchmark: str) -> Partition:
        study = self.study
        return Partition(study, benchmark, next(spec for spec in study.models if spec.name == model), 1)

    def asked(self, model: str, benchmark: str, *, again: bool = False) -> SessionResult:
        """Ask ``model`` about ``benchmark``, once unless ``again``."""
        if again or (model, benchmark) not in self.outcomes:
            found = ask(bound(self.study, benchmark), self.partition(model, benchmark))
            self.outcomes[model, benchmark] = found
        return self.outcomes[model, benchmark]

    def usable_share(self, model: str, benchmark: str) -> float:
        """Return the share of usable answers among those that stand."""
        kept = self.transcripts(model, benchmark)
        pairs = zip(kept["status"].to_list(), kept["text"].to_list(), strict=True)
        good = [usable(Status(status), text) for status, text in pairs]
        return sum(good) / len(good)

    def transcripts(self, model: str, benchmark: str) -> pl.DataFrame:
        """Return the answers of a partition that stand: what refused or failed on the way has an answer after it."""
        folder = self.partition(model, benchmark).folder
        kept = pl.DataFrame(pl.from_arrow(read_partition(folder))).filter(~pl.col("superseded"))
        assert kept["answer_id"].n_unique() >= self.asked(model, benchmark).tasks
        return kept.filter(pl.col("status") != "failed")


def study_text(models: Sequence[Mapping[str, object]], benchmarks: Sequence[str]) -> str:
    """Return a study file with the trial settings of ``benchmarks``, and fewer items."""
    lines = ["[study]", 'name = "profiles"', 'home = "home"']
    for each in models:
        lines += ["[[models]]", *(f"{key} = {json.dumps(value)}" for key, value in each.items())]
    for name in benchmarks:
        settings = {**registry.load(name).trial_settings, **FEWER.get(name, {})}
        lines += [
            f"[benchmarks.{name}]",
            *(f"{key} = {json.dumps(value)}" for key, value in settings.items()),
        ]
    return "\n".join(lines) + "\n"


def row(name: str, profile: str, server: ServerThread, more: Mapping[str, object]) -> dict[str, object]:
    """Return the row of a model behind ``profile``: an address, a key, ``more``, else the study's defaults."""
    url = server.url + ("" if profile in ROOTS else "/v1")
    common = {"name": name, "model": SERVED, "base_url": url, "api_key_env": "PROFILE_KEY"}
    return {"provider": "openai", **common, "price_in": 0, "price_out": 0, **ROWS.get(profile, {}), **more}


@contextmanager
def standing(
    folder: Path,
    rows: Mapping[str, tuple[str, Mapping[str, object]]],
    benchmarks: Sequence[str] = BENCHMARKS,
    plan: FaultPlan | None = None,
) -> Iterator[Board]:
    """Yield a study in ``folder`` with one model per row (its name -> profile, further keys), each with a server."""
    served = folder / "served.toml"
    served.write_text(study_text([{"name": SERVED, "provider": "simulated"}], benchmarks), encoding="utf-8")
    study = load_study(served)
    study.prepare()
    for name in benchmarks:
        construction.build(bound(study, name))
    respond = serving.respondents(study)[SERVED]
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROFILE_KEY", KEY)
        servers = {
            name: stack.enter_context(
                ServerThread(
                    lambda model, request: respond(request),
                    plan or FaultPlan(rates=profiles.load(profile).faults, retry_after_s=0.05),
                    models=(SERVED,),
                    profile=profile,
                    key=KEY,
                )
            )
            for name, (profile, _) in rows.items()
        }
        models = [row(name, profile, servers[name], more) for name, (profile, more) in rows.items()]
        (folder / "study.toml").write_text(study_text(models, benchmarks), encoding="utf-8")
        yield Board(folder, servers)
