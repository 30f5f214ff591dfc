"""Which calls are taken: the routes, and reading a call or refusing it in the provider's own words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tests.provider import anthropic, gemini, openai, replies
from tests.provider import profile as profiles
from tests.provider.dialects import Asked, BadRequest, Dialect, Problem, Refusal
from tests.provider.faults import Fault

_GEMINI = "/{version:v1|v1beta}/models/{model}"
ROUTES: tuple[tuple[profiles.Interface, str, Dialect], ...] = (
    ("chat", "/v1/chat/completions", openai.DIALECT),
    ("chat", "/api/v1/chat/completions", openai.DIALECT),  # where OpenRouter has it
    ("messages", "/v1/messages", anthropic.DIALECT),
    ("gemini", f"{_GEMINI}:generateContent", gemini.DIALECT),
    ("gemini", f"{_GEMINI}:streamGenerateContent", gemini.STREAMED),
)


@dataclass(frozen=True, slots=True)
class Admission:
    """Reads calls. Without a profile all that can be read is taken; ``models`` are the ids served, none: any.

    ``key`` is the only key taken, None: any; with ``keyed`` it was shown before.
    """

    profile: profiles.Profile | None = None
    models: tuple[str, ...] = ()
    key: str | None = None
    keyed: bool = False

    def read(
        self,
        interface: str,
        dialect: Dialect,
        path_model: str,
        raw: bytes,
        headers: Mapping[str, str],
        query: Mapping[str, str],
    ) -> Asked | Problem | Refusal:
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            return Problem(400, "bad_request", "the body is not JSON")
        return self.judged(profiles.Call(interface, path_model, headers, query, body), dialect, path_model)

    def judged(self, call: profiles.Call, dialect: Dialect, path_model: str) -> Asked | Problem | Refusal:
        body = call.given
        if self.profile is not None:
            refused = self.profile.refusal(call, self.models, self.key, keyed=self.keyed)
            if refused is not None:
                return refused
            if isinstance(body, dict):
                body = {name: body[name] for name in body if name not in self.profile.ignored}
        try:
            asked = dialect.read(path_model, body)
        except BadRequest as wrong:
            return Problem(400, "bad_request", str(wrong), wrong.param)
        if self.models and asked.model not in self.models:
            return replies.problem_of(Fault.MODEL_NOT_FOUND, asked.model, {}) or asked
        return asked
