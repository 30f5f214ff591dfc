"""What the study file says about one model: the row of ``[[models]]``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

SLUG_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,63}$"
Provider = Literal["openai", "anthropic", "gemini", "replay", "simulated"]
AnswerMode = Literal["auto", "json_schema", "choice", "logit_bias", "text"]


class ObserverSpec(BaseModel):
    """A simulated observer with known parameters. Shares and probabilities are 0 to 1.

    ``accuracy`` chance of knowing an ordinary question; ``metacognition`` how well confidence follows being right
    (0 blind, 1 perfect); ``overconfidence`` pull of the ratings towards the top (0 none, 1 always sure);
    ``missing_awareness`` chance of noticing that no listed choice is right; ``unknown_awareness`` chance of noticing
    that a question cannot be answered; ``heed`` share of the remaining unawareness a warning in the system message
    removes; ``sloppiness`` chance of answering outside the asked form; ``refusal`` chance of declining.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)

    accuracy: float = Field(default=0.7, ge=0, le=1)
    metacognition: float = Field(default=0.5, ge=0, le=1)
    overconfidence: float = Field(default=0.3, ge=0, le=1)
    missing_awareness: float = Field(default=0.3, ge=0, le=1)
    unknown_awareness: float = Field(default=0.1, ge=0, le=1)
    heed: float = Field(default=0.3, ge=0, le=1)
    sloppiness: float = Field(default=0.0, ge=0, le=1)
    refusal: float = Field(default=0.0, ge=0, le=1)
    seed: int = 0


class ModelSpec(BaseModel):
    """One model of a study. Prices are dollars per million tokens; rates are per minute.

    ``api_key_env`` is the NAME of an environment variable; the key itself is read when a client is opened and is
    kept nowhere else. ``top_logprobs`` is how many alternatives per token are asked for where a provider offers
    them (0: none); a provider that refuses is asked without.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str = Field(pattern=SLUG_PATTERN)
    provider: Provider
    model: str = Field(default="", max_length=200)
    base_url: str | None = None
    api_key_env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    temperature: float | None = Field(default=0.0, ge=0, le=2)
    max_tokens: int = Field(default=64, ge=1)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    top_logprobs: int = Field(default=5, ge=0, le=20)
    max_concurrency: int = Field(default=100, ge=1, le=1000)
    price_in: float | None = Field(default=None, ge=0)
    price_out: float | None = Field(default=None, ge=0)
    extra_body: dict[str, JsonValue] = Field(default_factory=dict)
    answer_mode: AnswerMode = "auto"
    choice_field: Literal["structured_outputs", "guided_choice"] = "structured_outputs"
    token_ids: dict[str, list[int]] = Field(default_factory=dict)
    timeout_s: float = Field(default=120.0, gt=0)
    observer: ObserverSpec = Field(default_factory=ObserverSpec)

    @property
    def free(self) -> bool:
        """Whether answers cost nothing: in-process respondents, or both prices given as zero."""
        return self.provider in ("replay", "simulated") or (self.price_in == 0 and self.price_out == 0)

    def identity_fields(self) -> dict[str, object]:
        """Return what decides an answer: provider, address, model id, extra body, observer.

        Names, prices, rate limits and key variables are left out: changing them must not ask anything again.
        """
        fields: dict[str, object] = {
            "provider": self.provider,
            "base_url": self.base_url,
            "model": self.model,
            "extra_body": self.extra_body,
        }
        if self.provider == "simulated":
            fields["observer"] = self.observer.model_dump()
        return fields
