"""Token log-probabilities as one JSON column: ``[[token, logprob, [[alternative, logprob], …]], …]``."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm.types import TokenLogprob


class LogprobsError(StoreError, ValueError):
    """Kept log-probabilities that cannot be read."""


def encode_logprobs(logprobs: Sequence[TokenLogprob]) -> str | None:
    """Return the JSON of ``logprobs``, ``None`` when there are none. A log-probability of -inf becomes null."""
    rows = [
        [each.token, _finite(each.logprob), [[token, _finite(value)] for token, value in each.top]]
        for each in logprobs
    ]
    return canonical_json(rows) if rows else None


def decode_logprobs(text: str | None) -> tuple[TokenLogprob, ...]:
    """Return what :func:`encode_logprobs` wrote. Raises ``LogprobsError`` for any other text."""
    try:
        return tuple(
            TokenLogprob(str(token), _number(logprob), tuple((str(t), _number(v)) for t, v in top))
            for token, logprob, top in json.loads("[]" if text is None else text)
        )
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise LogprobsError(
            f"not a list of token log-probabilities ({error}): restore the journal from a copy"
        ) from error


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _number(value: object) -> float:
    if isinstance(value, int | float):
        return float(value)
    if value is not None:
        raise TypeError(f"log-probability {value!r}")
    return -math.inf
