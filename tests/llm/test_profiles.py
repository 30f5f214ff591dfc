"""One study names one model per provider profile: each answers all benchmarks over HTTP, and all stand on the board."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

from metacog_pipeline import leaderboard, registry
from metacog_pipeline.asking import construction, serving
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.leaderboard.status import write_status
from metacog_pipeline.llm.server import FaultPlan, ServerThread
from metacog_pipeline.llm.server import profile as profiles
from metacog_pipeline.llm.types import Status, usable
from metacog_pipeline.querying.partition import SessionResult
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.scoring import files
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.transcripts.store import read_partition
from tests.asking_in_process import ask

KEY = "sk-simulated"
BENCHMARKS = ("metacogbench", "medley", "metamedqa", "selfknowledge", "signaldetection")
SERVED = "m"  # the id every profile serves its model under
LEAST_USABLE = 0.99
MOST_REFUSED = 5  # calls, for all benchmarks together
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
SHOWN = ("proxy", "vllm", "vllm-old", "ollama", "llamacpp")  # show their thinking without being asked


@dataclass
class Board:
    """The study, the servers behind it, and what came of asking."""

    folder: Path
    urls: Mapping[str, ServerThread]
    outcomes: dict[tuple[str, str], SessionResult] = field(default_factory=dict)

    @property
    def study(self) -> Study:
        return load_study(self.folder / "study.toml")

    def partition(self, profile: str, benchmark: str) -> Partition:
        study = self.study
        return Partition(study, benchmark, next(s for s in study.models if s.name == profile), 1)

    def asked(self, profile: str, benchmark: str) -> SessionResult:
        """Ask the model behind ``profile`` about ``benchmark``, once."""
        if (profile, benchmark) not in self.outcomes:
            found = ask(bound(self.study, benchmark), self.partition(profile, benchmark))
            self.outcomes[profile, benchmark] = found
        return self.outcomes[profile, benchmark]

    def transcripts(self, profile: str, benchmark: str) -> pl.DataFrame:
        """Return the answers of a partition that stand: what refused or failed on the way has an answer after it."""
        folder = self.partition(profile, benchmark).folder
        kept = pl.DataFrame(pl.from_arrow(read_partition(folder))).filter(~pl.col("superseded"))
        assert kept["answer_id"].n_unique() >= self.asked(profile, benchmark).tasks
        return kept.filter(pl.col("status") != "failed")


def study_text(models: list[dict[str, object]]) -> str:
    """Return a study file with the trial settings of every benchmark."""
    lines = ["[study]", 'name = "profiles"', 'home = "home"']
    for each in models:
        lines += ["[[models]]", *(f"{key} = {json.dumps(value)}" for key, value in each.items())]
    for name in BENCHMARKS:
        settings = {**registry.load(name).trial_settings, **FEWER.get(name, {})}
        lines += [
            f"[benchmarks.{name}]",
            *(f"{key} = {json.dumps(value)}" for key, value in settings.items()),
        ]
    return "\n".join(lines) + "\n"


def row(profile: str, server: ServerThread) -> dict[str, object]:
    """Return the row of a model behind ``profile``: an address, a key and the study's defaults for everything else."""
    url = server.url + ("" if profile in ROOTS else "/v1")
    common = {"name": profile, "model": SERVED, "base_url": url, "api_key_env": "PROFILE_KEY"}
    return {"provider": "openai", **common, "price_in": 0, "price_out": 0, **ROWS.get(profile, {})}


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    folder = tmp_path_factory.mktemp("profiles")
    served = folder / "served.toml"
    served.write_text(study_text([{"name": SERVED, "provider": "simulated"}]), encoding="utf-8")
    study = load_study(served)
    study.home.prepare()
    for name in BENCHMARKS:
        construction.build(bound(study, name))
    respond = serving.respondents(study)[SERVED]
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROFILE_KEY", KEY)
        servers = {
            name: stack.enter_context(
                ServerThread(
                    lambda model, request: respond(request),
                    FaultPlan(rates=profiles.load(name).faults, retry_after_s=0.05),
                    models=(SERVED,),
                    profile=name,
                    key=KEY,
                )
            )
            for name in profiles.names()
        }
        models = [row(name, server) for name, server in servers.items()]
        (folder / "study.toml").write_text(study_text(models), encoding="utf-8")
        yield Board(folder, servers)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("profile", profiles.names())
def test_a_study_of_defaults_ends_with_usable_answers_whatever_the_provider_refuses(
    board: Board, profile: str, benchmark: str
) -> None:
    outcome = board.asked(profile, benchmark)
    assert outcome.stopped is None
    assert outcome.complete
    kept = board.transcripts(profile, benchmark)
    good = [
        usable(Status(status), text)
        for status, text in zip(kept["status"].to_list(), kept["text"].to_list(), strict=True)
    ]
    assert good
    assert sum(good) >= LEAST_USABLE * len(good)


@pytest.mark.parametrize("profile", profiles.names())
def test_finding_out_what_a_provider_takes_costs_at_most_five_calls(board: Board, profile: str) -> None:
    for benchmark in BENCHMARKS:
        board.asked(profile, benchmark)
    stats = board.urls[profile].stats
    statuses = dict(stats["statuses"])  # type: ignore[call-overload]
    refused = sum(count for status, count in statuses.items() if status[:1] == "4")
    assert refused <= MOST_REFUSED, statuses


def test_what_was_thought_is_kept_where_the_provider_says_it(board: Board) -> None:
    for profile in profiles.names():
        board.asked(profile, "metamedqa")
        kept = board.transcripts(profile, "metamedqa")
        thinks = profiles.load(profile).thinking
        if profile in SHOWN:
            assert kept["reasoning_text"].str.len_chars().fill_null(0).min() > 0, profile
        if thinks.tokens and thinks.by_default and profiles.load(profile).details:
            assert kept["reasoning_tokens"].fill_null(0).min() > 0, profile


def test_every_profile_stands_on_the_board_of_every_benchmark(board: Board) -> None:
    study = board.study
    for name in BENCHMARKS:
        benchmark = bound(study, name)
        for profile in profiles.names():
            board.asked(profile, name)
            read = files.read(benchmark, board.partition(profile, name)).frame
            assert (read["status"] == "ok").mean() >= LEAST_USABLE, (profile, name)
            files.score(benchmark, board.partition(profile, name))
        files.pool(benchmark)
        files.compare(benchmark)
    write_status(study)
    leaderboard.build(study.home.path)
    rows = run_query(study.home.path, "select distinct benchmark, model from leaderboard").rows
    assert {tuple(each) for each in rows} >= {
        (name, profile) for name in BENCHMARKS for profile in profiles.names()
    }
