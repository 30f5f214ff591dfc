import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.llm import retry
from metacog_pipeline.llm.types import ErrorKind

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def retries(seed: int = 0) -> retry.Retries:
    return retry.Retries(retry.RetryPolicy(), random.Random(seed))


@given(seed=st.integers(0, 10**9))
@settings(max_examples=100)
def test_backoff_doubles_its_upper_bound_up_to_a_cap(seed):
    state, policy = retries(seed), retry.RetryPolicy
    for failure in range(1, policy.transient_attempts):
        pause = state.pause(ErrorKind.TRANSIENT, None, 0.0)
        assert 0 <= pause <= min(policy.backoff_cap_s, policy.backoff_base_s * 2 ** (failure - 1))


def test_jitter_is_full_and_repeats_with_its_seed():
    first = [retries(seed).pause(ErrorKind.TRANSIENT, None, 0.0) or 0.0 for seed in range(500)]
    again = [retries(seed).pause(ErrorKind.TRANSIENT, None, 0.0) or 0.0 for seed in range(500)]
    assert first == again
    assert min(first) < 0.1 * retry.RetryPolicy.backoff_base_s
    assert max(first) > 0.9 * retry.RetryPolicy.backoff_base_s


def test_rate_limits_do_not_use_up_transient_attempts_and_the_first_wait_is_as_short_as_asked():
    state = retries()
    assert state.pause(ErrorKind.RATE_LIMIT, 0.0, 0.0) == 0.0
    for _ in range(19):
        assert state.pause(ErrorKind.RATE_LIMIT, 0.0, 0.0) is not None
    assert state.pause(ErrorKind.TRANSIENT, None, 0.0) is not None


def test_a_wait_that_is_asked_for_is_kept_to_and_an_absurd_one_is_capped():
    assert retries().pause(ErrorKind.TRANSIENT, 50.0, 0.0) >= 50.0
    most = retry.RetryPolicy.retry_after_cap_s * (1 + retry.RETRY_AFTER_SPREAD)
    assert retries().pause(ErrorKind.RATE_LIMIT, 1e12, 0.0) <= most


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=42), usegmt=True)}, 42.0),
        ({"retry-after": format_datetime(NOW - timedelta(hours=1), usegmt=True)}, 0.0),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30"}, 30.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_as_seconds_milliseconds_or_a_date(headers, seconds):
    assert retry.retry_after_s(headers, NOW) == seconds


@given(value=st.text(max_size=60))
@settings(max_examples=200)
def test_any_retry_after_gives_a_wait_or_nothing(value):
    wait = retry.retry_after_s({"retry-after": value}, NOW)
    assert wait is None or wait >= 0


@pytest.mark.parametrize("asked", [0.0, 0.001])
def test_a_provider_that_asks_for_no_wait_and_refuses_again_is_not_hammered(asked):
    state, now, sends = retries(), 0.0, 1
    while (pause := state.pause(ErrorKind.RATE_LIMIT, asked, now)) is not None:
        assert pause >= asked
        now, sends = now + max(pause, 0.001), sends + 1
    assert sends < 150
    assert now <= retry.RetryPolicy.rate_limit_total_s


def test_waits_a_server_that_fails_asks_for_have_a_bounded_total_time():
    state, now = retries(), 1000.0
    while (pause := state.pause(ErrorKind.TRANSIENT, 3600.0, now)) is not None:
        now += pause
    assert now - 1000.0 <= retry.RetryPolicy.rate_limit_total_s


def test_what_may_have_been_billed_twice_is_not_sent_a_third_time():
    state = retries()
    assert state.pause(ErrorKind.TRANSIENT, None, 0.0, billed=True) is not None
    assert state.pause(ErrorKind.TRANSIENT, None, 0.0, billed=True) is None
