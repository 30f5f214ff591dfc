"""What a study may ask of a model beyond the defaults, behind every profile that takes it; and faults on the way."""

import asyncio
from collections.abc import Mapping

import pytest

from metacog_pipeline.asking import probing
from metacog_pipeline.asking.negotiation import MOST_CALLS
from metacog_pipeline.llm.batch import desk
from metacog_pipeline.llm.server import Fault, FaultPlan
from tests.profile_board import standing

ONE = ("metamedqa",)
ROWS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "chat-effort": ("openai-reasoning", {"effort": "low"}),
    "chat-none": ("openai-reasoning", {"effort": "none"}),
    "chat-as-responses": ("openai-reasoning", {"api": "responses", "effort": "high"}),
    "responses-effort": ("openai-responses", {"api": "responses", "effort": "low", "thinking_tokens": 4000}),
    "azure-effort": ("azure", {"effort": "low"}),
    "proxy-effort": ("proxy", {"effort": "low"}),
    "claude-effort": ("anthropic", {"effort": "low"}),
    "claude-tokens": ("anthropic", {"thinking_tokens": 4000}),
    "claude-budget": ("anthropic-budget", {"thinking_tokens": 2000}),
    "claude-plain": ("anthropic-budget", {"thinking_tokens": 0}),
    "gemini-level": ("gemini", {"effort": "low"}),
    "gemini-tokens": ("gemini", {"thinking_tokens": 2000}),
    "ollama-none": ("ollama", {"effort": "none"}),
    "vllm-none": ("vllm", {"effort": "none"}),
    "kept-raw": ("openai-reasoning", {"keep_raw": True}),
    "not-streamed": ("anthropic", {"stream": False}),
    "text-only": ("openai-reasoning", {"answer_mode": "text"}),
}
#: Faults that a client gets over: of connections, of streams, of bills.
ROUGH = {
    Fault.CUT: 0.04, Fault.CUT_CHARACTER: 0.04, Fault.ENDS_EARLY: 0.04, Fault.STREAM_ERROR: 0.04, Fault.RESET: 0.04,
    Fault.SERVER_ERROR: 0.04, Fault.RATE_LIMIT: 0.04, Fault.INVALID_JSON: 0.04, Fault.TORN: 0.1, Fault.STALL: 0.04,
    Fault.NO_USAGE: 0.04, Fault.NEGATIVE_USAGE: 0.04,
}  # fmt: skip
FORMATS = {name: (name, {}) for name in ("openai", "openai-responses", "anthropic", "gemini", "vllm")}


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    with standing(tmp_path_factory.mktemp("options"), ROWS, ONE) as found:
        yield found


@pytest.mark.parametrize("model", ROWS)
def test_a_model_asked_for_in_the_providers_own_words_answers_usably(board, model):
    outcome = board.asked(model, *ONE)
    assert (outcome.stopped, outcome.complete) == (None, True)
    assert board.usable_share(model, *ONE) == 1.0


def test_effort_and_budget_decide_how_much_is_thought(board):
    def thought(model: str) -> float:
        board.asked(model, *ONE)
        tokens = board.transcripts(model, *ONE)["reasoning_tokens"]
        return float(tokens.fill_null(0).mean())  # type: ignore[arg-type]

    assert thought("chat-none") == thought("claude-plain") == 0
    assert 0 < thought("chat-effort") < thought("kept-raw")
    assert 0 < thought("claude-effort") < thought("not-streamed")
    assert 0 < thought("gemini-level") < thought("gemini-tokens")
    assert thought("claude-budget") > 0


def test_the_body_of_a_reply_is_kept_where_the_study_asks_for_it(board):
    board.asked("kept-raw", *ONE)
    assert board.transcripts("kept-raw", *ONE)["raw_zstd"].null_count() == 0


def test_a_study_under_faults_ends_with_every_answer_a_healthy_one_has(tmp_path):
    said = {}
    for name, plan in {
        "healthy": FaultPlan(),
        "rough": FaultPlan(5, ROUGH, retry_after_s=0.02, slow_s=0.05),
    }.items():
        (tmp_path / name).mkdir()
        with standing(tmp_path / name, FORMATS, ONE, plan) as found:
            for model in FORMATS:
                for _ in range(4):  # what was cut and may have been billed is left to the next session
                    outcome = found.asked(model, *ONE, again=True)
                    if outcome.complete:
                        break
                assert outcome.complete, (name, model, outcome.stopped)
                kept = found.transcripts(model, *ONE)
                said[name, model] = dict(zip(kept["item_id"] + kept["condition"], kept["text"], strict=True))
    for model in FORMATS:
        assert said["rough", model] == said["healthy", model]


@pytest.mark.parametrize("profile", ["openai", "openai-reasoning", "openai-responses", "anthropic", "gemini"])
def test_a_batch_gives_the_usable_answers_that_asking_online_gives(tmp_path, profile, monkeypatch):
    quick = desk.Pace(first_s=0.02, factor=1.2, most_s=0.1, settling_s=0.3)
    monkeypatch.setattr(desk, "PACE", quick)
    rows = {"batch": (profile, {"lane": "batch"}), "online": (profile, {})}
    with standing(tmp_path, rows, ONE) as found:
        for model in rows:
            outcome = found.asked(model, *ONE)
            assert (outcome.stopped, outcome.complete) == (None, True)
            assert found.usable_share(model, *ONE) == 1.0
        texts = [
            dict(zip(kept["item_id"] + kept["condition"], kept["text"], strict=True))
            for kept in (found.transcripts(model, *ONE) for model in rows)
        ]
        assert texts[0] == texts[1]
        assert "batch" in found.transcripts("batch", *ONE)["lane"].to_list()


ONE_FAULT = [
    (Fault.HUGE_THINKING, {}),
    (Fault.ENDLESS, {"total_timeout_s": 1.5}),
    (Fault.CUT_CHARACTER, {}),
    (Fault.NO_USAGE, {}),
    (Fault.NEGATIVE_USAGE, {}),
    (Fault.EMPTY, {}),
    (Fault.STREAM_ERROR, {}),
]


@pytest.mark.parametrize(("fault", "more"), ONE_FAULT)
@pytest.mark.parametrize("profile", ["vllm", "anthropic-budget"])
def test_one_bad_reply_costs_at_most_one_more_session(tmp_path, profile, fault, more):
    plan = FaultPlan(script=(*[None] * 4, fault), gap_s=0.005, retry_after_s=0.02)
    with standing(tmp_path, {"m": (profile, {"max_concurrency": 1, **more})}, ONE, plan) as found:
        first = found.asked("m", *ONE)
        assert first.stopped is None
        assert first.answered >= first.tasks - 1
        second = found.asked("m", *ONE, again=True)
        assert second.complete
        assert second.tally.calls <= 2
        assert found.usable_share("m", *ONE) == 1.0
        stats = found.servers["m"].stats
        assert dict(stats["outcomes"]).get(fault) == 1  # type: ignore[call-overload]
        kept = found.transcripts("m", *ONE)
        longest = int(kept["reasoning_text"].fill_null("").str.len_chars().max())  # type: ignore[call-overload]
        assert (longest >= 10 * 2**20) is (fault is Fault.HUGE_THINKING)


@pytest.mark.parametrize("fault", [Fault.UNAUTHORIZED, Fault.FORBIDDEN, Fault.QUOTA, Fault.MODEL_NOT_FOUND])
@pytest.mark.parametrize("profile", ["openai-reasoning", "anthropic", "gemini"])
def test_an_account_that_may_not_ask_is_one_line_within_few_calls(tmp_path, profile, fault):
    with standing(tmp_path, {"m": (profile, {})}, ONE, FaultPlan(rates={fault: 1.0})) as found:
        outcome = found.asked("m", *ONE)
        assert outcome.stopped and "\n" not in outcome.stopped
        assert outcome.exit_code != 0
        assert outcome.answered == 0
        assert int(str(found.servers["m"].stats["received"])) <= MOST_CALLS


@pytest.mark.parametrize("profile", ["openai-reasoning", "azure", "anthropic", "gemini"])
def test_finding_out_what_a_served_model_takes_ends_without_a_complaint(tmp_path, profile):
    with standing(tmp_path, {"m": (profile, {})}, ("metacogbench",)) as found:
        study = found.study
        known, problem = asyncio.run(probing.probe(study, study.models[0]))
        assert problem is None
        assert known.reasons
        assert int(str(found.servers["m"].stats["received"])) <= MOST_CALLS
