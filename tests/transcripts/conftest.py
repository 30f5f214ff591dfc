import dataclasses
import resource
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from metacog_pipeline.files import sha256_hex
from metacog_pipeline.transcripts.schema import Record

_START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def _record(n: int = 0, **changes: Any) -> Record:
    whole = Record(
        answer_id=sha256_hex(f"answer {n}"),
        benchmark="metamedqa",
        model="model-a",
        run=1,
        item_id=f"item-{n:06d}",
        item_hash=sha256_hex(f"item {n}"),
        condition="vanilla",
        step="answer",
        source="measured",
        provider="openai",
        model_id="model-a-2026",
        model_reported="model-a-2026-01",
        mode="json_schema",
        request_json='{"messages":[]}',
        status="ok",
        text=f"answer number {n}",
        finish_reason="stop",
        logprobs_json=None,
        input_tokens=300,
        output_tokens=3,
        cost_usd=0.001,
        attempts=1,
        started_at=_START + timedelta(seconds=n),
        latency_s=0.25,
        http_status=200,
        error_kind=None,
        error_code=None,
        error_message=None,
    )
    return dataclasses.replace(whole, **changes)


@pytest.fixture(scope="session")
def make():
    """A whole record; ``n`` decides item, answer and time, keywords replace fields."""
    return _record


@pytest.fixture
def disk_limit():
    """``disk_limit(n)`` lets no file of this process grow beyond ``n`` bytes, as a full disk does; -1 lifts it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (soft if size < 0 else size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
