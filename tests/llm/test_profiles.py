"""One study names one model per provider profile: each answers all benchmarks over HTTP, and all stand on the board."""

import pytest

from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.leaderboard.status import write_status
from metacog_pipeline.llm.server import profile as profiles
from metacog_pipeline.scoring import files
from tests.draws import few_draws
from tests.profile_board import BENCHMARKS, standing

LEAST_USABLE = 0.99
MOST_REFUSED = 5  # calls, for all benchmarks together
SHOWN = ("proxy", "vllm", "vllm-old", "ollama", "llamacpp")  # show their thinking without being asked


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    rows = {name: (name, {}) for name in profiles.names()}
    with standing(tmp_path_factory.mktemp("profiles"), rows) as found:
        yield found


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("profile", profiles.names())
def test_a_study_of_defaults_ends_with_usable_answers_whatever_the_provider_refuses(
    board, profile, benchmark
):
    outcome = board.asked(profile, benchmark)
    assert outcome.stopped is None
    assert outcome.complete
    assert board.usable_share(profile, benchmark) >= LEAST_USABLE


@pytest.mark.parametrize("profile", profiles.names())
def test_finding_out_what_a_provider_takes_costs_at_most_five_calls(board, profile):
    for benchmark in BENCHMARKS:
        board.asked(profile, benchmark)
    stats = board.servers[profile].stats
    statuses = dict(stats["statuses"])  # type: ignore[call-overload]
    refused = sum(count for status, count in statuses.items() if status[:1] == "4")
    assert refused <= MOST_REFUSED, statuses


def test_what_was_thought_is_kept_where_the_provider_says_it(board):
    for profile in profiles.names():
        board.asked(profile, "metamedqa")
        kept = board.transcripts(profile, "metamedqa")
        thinks = profiles.load(profile).thinking
        if profile in SHOWN:
            assert kept["reasoning_text"].str.len_chars().fill_null(0).min() > 0, profile
        if thinks.tokens and thinks.by_default and profiles.load(profile).details:
            assert kept["reasoning_tokens"].fill_null(0).min() > 0, profile


@pytest.mark.parametrize("profile", ["openai", "openai-responses", "gemini"])
def test_later_steps_are_billed_from_a_prompt_cache_that_works_by_itself(board, profile):
    board.asked(profile, "medley")
    kept = board.transcripts(profile, "medley")
    sent, cached = kept["input_tokens"].sum(), kept["cached_tokens"].fill_null(0).sum()
    assert cached >= 0.2 * sent


@pytest.mark.proof
def test_every_profile_stands_on_the_board_of_every_benchmark(board, monkeypatch):
    study = board.study
    few_draws(monkeypatch)  # who stands there does not depend on how wide intervals are
    for name in BENCHMARKS:
        benchmark = bound(study, name)
        for profile in profiles.names():
            board.asked(profile, name)
            read = files.read(benchmark, board.partition(profile, name)).frame
            assert (read["status"] == "ok").mean() >= LEAST_USABLE, (profile, name)
            files.score(benchmark, board.partition(profile, name))
        files.pool(benchmark)
    write_status(study)
    build(study.home)
    rows = run_query(study.home, "select distinct benchmark, model from leaderboard").rows
    assert {tuple(each) for each in rows} >= {
        (name, profile) for name in BENCHMARKS for profile in profiles.names()
    }
