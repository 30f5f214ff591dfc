"""Every benchmark against a real vLLM server, in every mode it can be asked in: choice, JSON and text, with thinking too.

The model always begins a new line where the grammar lets it, so the server is told to allow no white space in JSON.
"""

import asyncio
import json
import subprocess
import sys
import time
from typing import Any

import polars as pl
import pytest

from metacog_pipeline import registry
from metacog_pipeline.benchmarks.metamedqa.prompts import ANSWER_OBJECT
from metacog_pipeline.llm.open import Clients, open_model
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, Message, OneOf, Sampling, Status
from metacog_pipeline.transcripts.lines import decode_logprobs
from tests.proofs import vllm_server

jsonschema = pytest.importorskip("jsonschema")
pytestmark = pytest.mark.proof
RUN_S = 1200
IN_FLIGHT, CALLS = 64, 640
THOUGHT = " think~ ing~ about~ the~ question~"  # what the model is wired to think
JUDGED = ("metacogbench",)
#: How each respondent is asked, its family, and whether the template opens a thought.
RESPONDENTS = {
    "object": ("json_schema", False),
    "choice": ("choice", False),
    "free": ("text", False),
    "thinks": ("auto", True),
}
#: The mode each benchmark is asked in: the respondent's, or the first the benchmark has.
MODES = {
    "metamedqa": {"object": "json_schema", "choice": "choice", "free": "text", "thinks": "json_schema"},
    "signaldetection": {"object": "json_schema", "free": "text", "thinks": "json_schema"},
    "selfknowledge": {"choice": "choice", "free": "text"},
    "metacogbench": {"object": "json_schema", "free": "text"},
    "medley": {"object": "json_schema", "free": "text", "thinks": "json_schema"},
    "metacogbench_judgements": {"judge": "json_schema"},
}


def row(table: str, name: str, model: str, address: str, mode: str, thinks: bool) -> str:
    return f"""
[[{table}]]
name = "{name}"
provider = "openai"
base_url = "{address}"
model = "{model}"
price_in = 0
price_out = 0
answer_mode = "{mode}"
family = "{model}"
max_concurrency = {IN_FLIGHT}
extra_body = {{chat_template_kwargs = {{enable_thinking = {str(thinks).lower()}}}}}
"""


def study_text(address: str) -> str:
    answers, judges = vllm_server.MODELS
    rows = [row("models", name, answers, address, *asked) for name, asked in RESPONDENTS.items()]
    rows.append(row("judges", "judge", judges, address, "json_schema", False))
    for name in registry.names():
        settings = dict(registry.load(name).trial_settings) | (
            {"judges": ["judge"]} if name in JUDGED else {}
        )
        lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
        rows.append("\n".join([f"[benchmarks.{name}]", *lines]))
    return "\n".join(['[study]\nname = "real"\nhome = "home"', *rows]) + "\n"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vllm")
    python = vllm_server.environment()
    with vllm_server.served(python, vllm_server.model(python, folder), folder / "server.log") as found:
        yield found


@pytest.fixture(scope="module")
def calls(address, tmp_path_factory):
    """Every call of a study of all benchmarks, asked by ``metacog run``."""
    folder = tmp_path_factory.mktemp("study")
    study = folder / "study.toml"
    study.write_text(study_text(address), encoding="utf-8")
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "metacog_pipeline", "run", str(study), "--quiet"],
        capture_output=True,
        text=True,
        timeout=RUN_S,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    print(f"\nmetacog run: {time.monotonic() - begun:.0f} s")
    states = [json.loads(path.read_text()) for path in folder.glob("home/transcripts/*/*/*/partition.json")]
    assert {each["state"] for each in states} == {"complete"}
    frames = [pl.read_parquet(path) for path in sorted(folder.glob("home/transcripts/*/*/*/*.parquet"))]
    kept = pl.concat(frames, how="diagonal_relaxed").filter(pl.col("source") == "measured")
    return kept.with_columns(valid=pl.struct("request_json", "text").map_elements(_valid, pl.Boolean))


def _valid(call: dict[str, str]) -> bool | None:
    """Return whether a reply is what its call was held to; None for a free one."""
    held = json.loads(call["request_json"])["constraint"]
    match held:
        case None:
            return None
        case {"kind": "one_of"}:
            return call["text"] in held["options"]
        case _:
            try:
                return admits(json.loads(held["schema_json"]), json.loads(call["text"]))
            except ValueError:
                return False


def admits(rule: dict[str, Any], value: object) -> bool:
    return bool(jsonschema.Draft202012Validator(rule).is_valid(value))


def test_every_answer_is_whole_and_every_constrained_one_valid(calls):
    board = calls.group_by("benchmark", "model", "mode").agg(
        calls=pl.len(),
        whole=(pl.col("status") == "ok").sum(),
        held=pl.col("valid").count(),
        valid=pl.col("valid").sum(),
        longest=pl.col("output_tokens").max(),
    )
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=120):
        print(board.sort("benchmark", "model", "mode"))
    assert board["whole"].equals(board["calls"].cast(board["whole"].dtype), check_names=False)
    assert board["valid"].equals(board["held"].cast(board["valid"].dtype), check_names=False)
    asked = {(row["benchmark"], row["model"]): row["mode"] for row in board.iter_rows(named=True)}
    for benchmark, modes in MODES.items():
        for name, mode in modes.items():
            assert asked[benchmark, name] == mode, (benchmark, name)
            held = board.filter(pl.col("benchmark") == benchmark, pl.col("mode") == mode)["held"].sum()
            assert (held > 0) == (mode != "text"), (benchmark, name)


def test_log_probabilities_are_kept_where_they_were_asked_for_and_spell_the_answer(calls):
    seen = 0
    for call in calls.iter_rows(named=True):
        wanted = json.loads(call["request_json"])["sampling"]["top_logprobs"]
        assert bool(call["logprobs_json"]) == bool(wanted), call["step"]
        if wanted:
            tokens = decode_logprobs(call["logprobs_json"])
            assert "".join(token.token for token in tokens).startswith(call["text"]), call["text"]
            assert all(token.logprob <= 0 and len(token.top) >= 1 for token in tokens)
            seen += 1
    assert seen > 300


def test_what_a_model_thinks_is_kept_beside_its_answer_and_never_in_it(calls):
    thinks = calls.filter(pl.col("model") == "thinks")
    assert thinks.height > 150
    assert set(thinks["reasoning_text"]) == {THOUGHT}
    billed = thinks.filter(
        pl.col("output_tokens") > 0
    )  # an answer found again under another condition is not
    assert set(billed["reasoning_tokens"]) == {5}
    assert not thinks["text"].str.contains("think").any()
    others = calls.filter(pl.col("model") != "thinks")
    assert others["reasoning_text"].null_count() == others.height
    assert set(others["reasoning_tokens"].drop_nulls()) <= {0}


@pytest.mark.parametrize("thinks", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_sixty_four_calls_in_flight_are_all_answered(address, thinks, stream):
    spec = ModelSpec(
        name="m", provider="openai", model=vllm_server.MODELS[0], base_url=address, max_concurrency=IN_FLIGHT,
        price_in=0, price_out=0, stream=stream,
        extra_body={"chat_template_kwargs": {"enable_thinking": thinks}},
    )  # fmt: skip
    held = (ANSWER_OBJECT, OneOf(("A", "B")), None)
    requests = [
        ChatRequest((Message("user", f"Question {n}"),), Sampling(top_logprobs=2), held[n % 3])
        for n in range(CALLS)
    ]
    most = 0

    async def ask_all() -> list[Completion]:
        async with Clients() as clients:
            model = open_model(spec, shared=clients)
            limiter = clients._account(spec)[1]
            assert limiter is not None

            async def watch() -> None:
                nonlocal most
                while True:
                    most = max(most, limiter.in_use)
                    await asyncio.sleep(0.01)

            watching = asyncio.ensure_future(watch())
            try:
                return await asyncio.gather(*map(model.complete, requests))
            finally:
                watching.cancel()

    begun = time.monotonic()
    answers = asyncio.run(ask_all())
    took = time.monotonic() - begun
    print(f"\n{CALLS} calls, thinking {thinks}, stream {stream}: {took:.1f} s, at most {most} at once")
    assert {answer.status for answer in answers} == {Status.OK}
    for request, answer in zip(requests, answers, strict=True):
        match request.constraint:
            case OneOf(options):
                assert answer.text in options
            case None:
                assert answer.text == "A"
            case _:
                assert admits(json.loads(ANSWER_OBJECT.schema_json), json.loads(answer.text))
        assert "".join(token.token for token in answer.logprobs).startswith(answer.text)
        assert answer.reasoning_text == (THOUGHT if thinks else None)
    assert most == IN_FLIGHT
