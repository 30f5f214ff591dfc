"""What a model at its address was found to accept and to do: learnt once, kept in the study's home.

The first replies teach it (see ``asking.negotiation``); every wire format reads it when it words a call; the plan, the
doctor and the UI show it. It is kept per model and address, and forgotten when the model's row of the study changes
what is asked.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from metacog_pipeline.files import write_text
from metacog_pipeline.home import Home
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Sampling

#: What may be thought where nothing is known yet: a limit costs nothing by itself. Less than 16,384 with the answer, the
#: most that many models without reasoning take, so that they are not refused for it.
AMPLE_THINKING_TOKENS = 15_360
MODEST_THINKING_TOKENS = 4_096  # where a provider takes no such limit
TIMES_THE_MOST_SEEN = 4  # the next question may need more thinking than the hardest so far
SHOWN_REASONING = "reasoning_summary"  # the option to be shown what was thought, whatever a provider calls it
NOT_SENT = ("temperature", "seed", "top_logprobs")
BILLS = ("overbilled", "hidden_tokens")  # what only bills teach
Limit = Literal["max_tokens", "max_completion_tokens"]
Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What is known of one model at one address; ``None`` or empty: not known yet.

    ``limit_field`` the name it takes a limit of tokens by; ``refused`` options it does not take (``temperature``,
    ``seed``, ``top_logprobs``, ``stream``, ``thinking_room``, …); ``refused_modes`` answer modes it does not
    take. ``reasons`` whether it thinks before it answers; ``reasoning_tokens`` the most thought before one answer.
    ``first_reply_s`` seconds to the first whole reply. ``overbilled`` the tokens of a bill that shows no limit: such a
    model is not asked again. ``hidden_tokens`` the most input tokens billed beside a prompt where something adds to it: as
    many more are set aside for each call.
    """

    limit_field: Limit | None = None
    refused: frozenset[str] = frozenset()
    refused_modes: frozenset[str] = frozenset()
    reasons: bool | None = None
    reasoning_tokens: Count | None = None
    first_reply_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    overbilled: Count | None = None
    hidden_tokens: Count | None = None

    def thinking_room(self, spec: ModelSpec) -> int:
        """Return how many tokens ``spec`` may think before it answers, beside those of the answer itself."""
        if spec.thinking_tokens is not None:
            return spec.thinking_tokens
        if self.reasons is False or "thinking_room" in self.refused:
            return 0
        if "ample_room" in self.refused:
            return MODEST_THINKING_TOKENS
        return max(AMPLE_THINKING_TOKENS, TIMES_THE_MOST_SEEN * (self.reasoning_tokens or 0))

    def token_limit(self, spec: ModelSpec, request: ChatRequest) -> int | None:
        """Return the limit on generated tokens that a call is sent with; ``None`` where the request has none.

        Every wire format sends it and the budget bounds a call by it, so the two cannot differ. It holds the answer and
        room to think, as providers count both as one.
        """
        limit = request.sampling.max_tokens
        return None if limit is None else limit + self.thinking_room(spec)

    def accepted(self, sampling: Sampling) -> Sampling:
        """Return ``sampling`` without what the model refuses; the limit on tokens is `token_limit`'s."""
        left_out: dict[str, Any] = {name: None for name in NOT_SENT if name in self.refused}
        return dataclasses.replace(sampling, **left_out) if left_out else sampling

    def streams(self, spec: ModelSpec) -> bool:
        """Return whether a reply to ``spec`` is asked for as a stream."""
        return spec.stream is not False and spec.lane == "online" and "stream" not in self.refused

    def shows_reasoning(self, spec: ModelSpec) -> bool:
        """Return whether to ask for a view of the thinking: only where there is some, for others may refuse the option."""
        thinks = self.reasons or spec.effort not in (None, "none") or bool(spec.thinking_tokens)
        return thinks and SHOWN_REASONING not in self.refused


NOTHING_KNOWN = Capabilities()


def kept_at(home: Home, model: str) -> Path:
    """Return the file that keeps what is known of ``model`` in the study at ``home``."""
    return home.capabilities / f"{model}.json"


def load(home: Home, model: str, request_digest: str) -> Capabilities | None:
    """Return what is known of ``model``; None where nothing is, or where it would be asked otherwise now.

    A file that cannot be read is as good as none: what it held can be learnt again.
    """
    try:
        kept = json.loads(kept_at(home, model).read_text("utf-8"))
        if kept["asked_as"] != request_digest:
            return None
        return _form().validate_json(json.dumps(kept["capabilities"]), strict=True)
    except (OSError, ValueError, TypeError, KeyError):
        return None


@functools.cache
def _form() -> TypeAdapter[Capabilities]:
    return TypeAdapter(Capabilities)


def save(home: Home, model: str, request_digest: str, known: Capabilities) -> None:
    """Keep what is ``known`` of ``model``."""
    fields = dataclasses.asdict(known)
    fields |= {name: sorted(fields[name]) for name in ("refused", "refused_modes")}
    path = kept_at(home, model)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps({"asked_as": request_digest, "capabilities": fields}, indent=1) + "\n")
