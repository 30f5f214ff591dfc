"""Where published data and golden files are found, and transcripts that nobody was asked for.

A test that needs an absent file is skipped with the reason.
"""

import asyncio
import atexit
import functools
import gc
import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest
from hypothesis import HealthCheck, settings

from metacog_pipeline.asking.types import Answer, Ask
from metacog_pipeline.cli import running
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling, Status
from tests.cli.conftest import metacog
from tests.draws import few_draws
from tests.folders import in_memory
from tests.forked import FEW_DRAWS, Loaded
from tests.partitions import folder
from tests.servers import postgres, postgres_server, redis_server, s3, s3_server

__all__ = ["folder", "metacog", "postgres", "postgres_server", "redis_server", "s3", "s3_server"]  # fixtures

ROOT = Path(__file__).resolve().parents[1]

# A property is about values: on a busy machine a slow example is not a failure.
# Forty examples a run: each run draws new ones. `make mutants` asks for more, so that each notices what it must.
settings.register_profile(
    "values", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=40
)
settings.register_profile("more", settings.get_profile("values"), max_examples=100)
# The same examples in each run: a failure is then of the change. `.ci/run` asks for it, `make test` draws new ones.
settings.register_profile("same", settings.get_profile("values"), derandomize=True)
settings.load_profile("values")

if memory := in_memory():  # workers take the folder of the process that starts them
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))

gc.disable()  # until all tests are collected: what is loaded on the way stays


def data_file(*parts: str) -> Path:
    """Return a published data file, or skip the test."""
    path = Path(os.environ.get("METACOG_DATA", ROOT.parent / "shared" / "data")).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is not here; set METACOG_DATA")
    return path


@pytest.fixture(scope="session", autouse=True)
def loaded():
    """Have ``metacog run``, called in this process, fork its run instead of loading Dagster anew (`tests.forked`)."""
    made = Loaded()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "subprocess", made)
        yield made
    made.close()


@pytest.fixture(scope="session", autouse=True)
def authorities_are_read_once():
    """Have the clients of a process share what they trust: each would read all authorities anew, for 23 ms.

    No server of the tests shows a certificate.
    """
    with pytest.MonkeyPatch.context() as patch:
        once = functools.cache(httpx.create_ssl_context)
        for module in (httpx, httpx._transports.default):
            patch.setattr(module, "create_ssl_context", once)
        yield


@pytest.fixture(scope="module")
def few_resamples():
    """Have every resampling draw few times, in runs too, while a module's tests run that do not hang on how many."""
    with pytest.MonkeyPatch.context() as patch:
        few_draws(patch)
        patch.setenv(FEW_DRAWS, "1")
        yield


@pytest.fixture
def medqa():
    """The published parent questions."""
    return data_file("metamedqa", "medqa_usmle_4opt_test.jsonl.gz")


@pytest.fixture(scope="session")
def transcripts_of():
    """Return a function that gives, for a benchmark and its usual condition, one that makes one transcript row."""

    def rows_of(benchmark: str, condition: str) -> Callable[..., dict[str, Any]]:
        start = datetime(2026, 1, 1, tzinfo=UTC)
        made = 0

        def row(item: Any, text: str = "", **changed: Any) -> dict[str, Any]:
            nonlocal made
            made += 1
            return {
                "answer_id": f"{made:064x}", "benchmark": benchmark, "model": "m", "run": 1,
                "item_id": item.item_id, "item_hash": item.item_hash, "condition": condition, "step": "answer",
                "source": "measured", "mode": "text", "request_json": '{"messages":[]}', "status": "ok", "text": text,
                "logprobs_json": None, "input_tokens": 100, "output_tokens": 8, "cost_usd": 0.001, "latency_s": 0.5,
                "error_code": None, "error_message": None, "started_at": start + timedelta(seconds=made),
                "superseded": False, **changed,
            }  # fmt: skip

        return row

    return rows_of


@pytest.fixture(scope="session")
def table():
    """Return a function that makes a frame of transcript rows."""
    texts = ("answer_id", "benchmark", "model", "item_id", "item_hash", "condition", "step", "source", "mode")
    types: dict[str, Any] = {
        **dict.fromkeys((*texts, "request_json", "status", "text", "logprobs_json"), pl.String),
        **dict.fromkeys(("error_code", "error_message"), pl.String),
        **dict.fromkeys(("input_tokens", "output_tokens"), pl.Int64),
        **dict.fromkeys(("cost_usd", "latency_s"), pl.Float64),
        "run": pl.Int32,
        "started_at": pl.Datetime("us", "UTC"),
        "superseded": pl.Boolean,
    }
    return lambda rows: pl.DataFrame(list(rows), schema=types)


@pytest.fixture(scope="session")
def asked_in_process(table):
    """Return a function that asks everything of ``respond`` and gives the transcripts."""

    def ask_all(
        transcript: Callable[..., dict[str, Any]],
        respond: Callable[[ChatRequest], str],
        ask_item: Callable[[Any, str, Ask], Awaitable[None]],
        items: Sequence[Any],
        conditions: Sequence[str],
        *,
        model: str,
        run: int,
        mode: str,
    ) -> pl.DataFrame:
        rows: list[dict[str, Any]] = []

        async def everything() -> None:
            for condition in conditions:
                for item in items:

                    async def ask(
                        step: str,
                        messages: Sequence[Message],
                        *,
                        constraint: Any = None,
                        max_tokens: int | None = None,
                        top_logprobs: int | None = None,
                        send_temperature: bool = True,
                        sample: int = 0,
                        item: Any = item,
                        condition: str = condition,
                    ) -> Answer:
                        request = ChatRequest(tuple(messages), Sampling(seed=run), constraint, step, run)
                        text = respond(request)
                        told = {"condition": condition, "step": step, "mode": mode, "source": "simulated"}
                        rows.append(transcript(item, text, model=model, run=run, **told))
                        return Answer(Status.OK, text)

                    await ask_item(item, condition, ask)

        asyncio.run(everything())
        return table(rows)

    return ask_all


#: Files that take longest, longest first: the workers of `make test` begin with them, so that none is left for one
#: worker when the others have nothing to do. Files not named here follow in alphabetical order.
LONGEST = """
browser/test_ui.py conformance/test_benchmarks.py assets/test_run.py
cli/test_batches.py conformance/test_in_a_study.py assets/test_automation.py judges/test_reader_model.py
report/test_screens.py cli/test_commands.py crash/test_crash.py leaderboard/test_build.py
report/test_explorer.py selfknowledge/training/test_chain.py selfknowledge/training/test_causal.py
test_site.py test_api.py conformance/test_broken_rows.py llm/test_fuzzed_replies.py
selfknowledge/training/test_tuning.py asking/test_secrets.py scoring/test_people.py report/test_page.py
stats/metad/test_fit.py test_words.py crash/test_batch_crash.py test_architecture.py
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the longest files first; within a file their order stays."""
    place = {ROOT / "tests" / name: number for number, name in enumerate(LONGEST.split())}
    items.sort(key=lambda item: place.get(item.path, len(place)))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Take what all tests share out of the garbage collector's sight: it would walk through millions of objects again."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 50)
    # What it cannot see when the process ends is reported by DuckDB as leaked. Not before: pytest collects twice when it
    # is done, 0.7 s in all over what is loaded.
    atexit.register(gc.unfreeze)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Give back the memory of temporary folders, unless somebody may want to look at them."""
    if exitstatus == 0 and not hasattr(session.config, "workerinput"):
        made = session.config._tmp_path_factory._basetemp  # type: ignore[attr-defined]
        if made is not None and memory in made.parents:
            atexit.register(shutil.rmtree, made, ignore_errors=True)  # workers have ended then
