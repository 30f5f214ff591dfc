"""What the study file says about one model: the row of ``[[models]]``."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationInfo, field_validator

from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm.local.weights import weights_digest

SLUG_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,63}$"
Provider = Literal["openai", "anthropic", "gemini", "transformers", "replay", "simulated"]
_TOKEN_IDS = "a list of token ids for each option, as in { A = [32, 362], B = [33] }"
_SLUG = "at most 64 lower-case letters, digits, dots, underscores and hyphens, the first a letter or digit"
_BILLIONS = "billions of parameters, a number above 0 and up to 1000000"
_MODEL = "the name of the model or its folder, in characters that can be printed"
_WORD = "one word of lower-case letters"
# answer without a network and without a bill
IN_PROCESS = ("transformers", "replay", "simulated")
OFFICIAL_URLS: Mapping[str, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
KEY_VARIABLES: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
}
#: A key of the row → who takes it.
_TAKERS = {
    **dict.fromkeys(("effort", "thinking_tokens", "lane", "batch_factor"), "openai, anthropic and gemini do"),
    "verbosity": "openai does",
}
# tokens to think; the provider refuses a smaller allowance
LEAST_ANTHROPIC_BUDGET = 1024
# more than any model writes; a larger number is a slip
MAX_TOKENS = 10**9
MAX_TIMEOUT_S = 86_400.0
#: A minute; no provider allows a thousandth of it, and who wants no limit leaves the key out.
MOST_REQUESTS = 10**9
MOST_DOLLARS = 10**6  # per million tokens: a dollar for each
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
Price = Annotated[float, Field(strict=True, ge=0, le=MOST_DOLLARS)] | None
Lane = Literal["online", "batch"]
AnswerMode = Literal["auto", "json_schema", "choice", "logit_bias", "text"]
Character = Literal["argument-follower", "crowd-follower", "stubborn", "hedger", "random", "silent"]
Betting = Literal["confidence", "all", "half", "nothing", "refuse"]
#: Name of an observer's parameter → the one it had in version 0.1, under which answers are kept.
FIRST_NAMES = {"warning_response": "heed", "untidiness": "sloppiness", "sycophancy": "caving"}


class ObserverSpec(BaseModel):
    """A simulated observer; ``docs/study.md`` explains its parameters. Evidence is in units of its standard deviation."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)

    # chance of knowing an ordinary question
    accuracy: Share = 0.7
    # how well confidence follows being right
    metacognition: Share = 0.5
    # pull of the ratings towards the top
    overconfidence: Share = 0.3
    # of noticing that no listed choice is right
    missing_awareness: Share = 0.3
    # of noticing that a question cannot be answered
    unknown_awareness: Share = 0.1
    # of the remaining unawareness a warning in the system message removes
    warning_response: Share = 0.3
    # of answering outside the asked form
    untidiness: Share = 0.0
    refusal: Share = 0.0  # of declining
    # sensitivity d′ of binary decisions
    d: float = Field(strict=True, default=1.5, ge=0, le=10)
    # meta-d′ / d′
    m_ratio: float = Field(strict=True, default=0.8, ge=0, le=5)
    # c, above 0 says the second too rarely
    criterion: float = Field(strict=True, default=0.0, ge=-10, le=10)
    criteria: tuple[Annotated[float, Field(strict=True, gt=0, le=20)], ...] = Field(
        default=(0.35, 0.7, 1.1, 1.6), min_length=1, max_length=8
    )
    # of c, from what is punished
    risk_shift: float = Field(strict=True, default=0.4, ge=-10, le=10)
    # what moves it, where others disagree
    character: Character = "argument-follower"
    # fall of the chance of being right from one level to the next
    difficulty_slope: Share = 0.15
    # stated beyond that chance
    confidence_bias: float = Field(strict=True, default=0.1, ge=-1, le=1)
    betting: Betting = "confidence"
    # of naming what a naive calculation leaves out
    caution: Share = 0.5
    # of giving up a right claim to an authority
    sycophancy: Share = 0.3
    # of seeing the structure of a story
    transfer: Share = 0.5
    # d′ between what it can answer and cannot
    d_type2: float = Field(strict=True, default=1.0, ge=-5, le=5)
    # above 0 claims to know too often
    yes_bias: float = Field(strict=True, default=0.0, ge=-10, le=10)
    # of what it knows in English, not known in another language
    language_gap: Share = 0.1
    seed: int = Field(strict=True, default=0)

    @field_validator("criteria")
    @classmethod
    def _rising(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if any(high <= low for low, high in itertools.pairwise(value)):
            raise ValueError("the criteria must rise from one to the next")
        return value

    def identity_fields(self) -> dict[str, object]:
        """Return the parameters under the names that are part of every kept answer's identity: those of version 0.1."""
        return {FIRST_NAMES.get(name, name): value for name, value in vars(self).items()}


class ModelSpec(BaseModel):
    """One model of a study; ``docs/study.md`` explains the keys: dollars per million tokens, rates per minute, seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str = Field(pattern=SLUG_PATTERN, description=_SLUG)
    provider: Provider
    model: str = Field(
        default="", max_length=1000, pattern=r"^(|[^\p{C}]*[^\p{C}\s][^\p{C}]*)$", description=_MODEL
    )
    base_url: str | None = None
    # The key itself is read when a client is opened and is kept nowhere else.
    api_key_env: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="the NAME of the environment variable that holds the key, never the key itself",
    )
    temperature: float | None = Field(default=0.0, ge=0, le=2, strict=True)
    max_tokens: int = Field(default=64, ge=1, le=MAX_TOKENS, strict=True)
    requests_per_minute: float | None = Field(default=None, gt=0, le=MOST_REQUESTS, strict=True)
    top_logprobs: int = Field(default=5, ge=0, le=20, strict=True)
    max_concurrency: int = Field(default=100, ge=1, le=1000, strict=True)
    price_in: Price = None
    price_out: Price = None
    price_cached_in: Price = None
    price_cache_write: Price = None
    price_reasoning: Price = None
    batch_factor: float | None = Field(default=None, ge=0, le=1, strict=True)
    price_unknown: bool = Field(default=False, strict=True)
    effort: str | None = Field(default=None, pattern=r"^[a-z]{1,20}$", description=_WORD)
    verbosity: str | None = Field(default=None, pattern=r"^[a-z]{1,20}$", description=_WORD)
    thinking_tokens: int | None = Field(default=None, ge=0, le=MAX_TOKENS, strict=True)
    lane: Lane = "online"
    stream: bool | None = Field(default=None, strict=True)
    extra_body: dict[str, JsonValue] = Field(default_factory=dict)
    answer_mode: AnswerMode = "auto"
    choice_field: Literal["structured_outputs", "guided_choice"] = "structured_outputs"
    token_ids: dict[str, list[int]] = Field(default_factory=dict, description=_TOKEN_IDS)
    device: str = Field(
        default="auto",
        pattern=r"^(auto|cpu|mps|cuda(:\d{1,3})?)$",
        description='one of "auto", "cpu", "mps", "cuda", "cuda:0"',
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    batch_size: int = Field(default=16, ge=1, le=4096, strict=True)
    timeout_s: float = Field(default=120.0, gt=0, le=MAX_TIMEOUT_S, strict=True)
    total_timeout_s: float | None = Field(default=None, gt=0, le=MAX_TIMEOUT_S, strict=True)
    family: str | None = Field(default=None, pattern=SLUG_PATTERN, description=_SLUG)
    params_b: float | None = Field(default=None, gt=0, le=1e6, strict=True, description=_BILLIONS)
    params_active_b: float | None = Field(default=None, gt=0, le=1e6, strict=True, description=_BILLIONS)
    released: str | None = Field(
        default=None,
        pattern=r"^\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?$",
        description='a date as in "2025", "2025-08" or "2025-08-05"',
    )
    observer: ObserverSpec = Field(default_factory=ObserverSpec)

    @field_validator(*_TAKERS)
    @classmethod
    def _taken_by_its_provider(cls, value: Any, info: ValidationInfo) -> Any:
        key, provider = str(info.field_name), info.data.get("provider")
        if provider is not None and value not in (None, "online") and provider not in _TAKERS[key]:
            raise ValueError(f"provider {provider} takes no {key} (only {_TAKERS[key]}); remove the key")
        if key == "thinking_tokens" and provider == "anthropic" and 0 < (value or 0) < LEAST_ANTHROPIC_BUDGET:
            raise ValueError(
                f"provider anthropic takes no thinking (0) or at least {LEAST_ANTHROPIC_BUDGET:,} tokens of it"
            )
        return value

    @property
    def free(self) -> bool:
        """Whether answers cost nothing: in-process respondents, or both prices given as zero and no other above it."""
        others = (self.price_cached_in, self.price_cache_write, self.price_reasoning)
        return self.provider in IN_PROCESS or (self.price_in == 0 == self.price_out and not any(others))

    @property
    def at_official_address(self) -> bool:
        """Whether the model is asked at the provider's own address, given or not."""
        return self.provider in OFFICIAL_URLS and address(self.provider, self.base_url) is None

    @property
    def identity_json(self) -> str:
        """The canonical JSON of `identity_fields`."""
        return canonical_json(self.identity_fields())

    def identity_fields(self) -> dict[str, object]:
        """Return what decides an answer: provider, address, model id, extra body, how hard to think, observer."""
        if self.provider == "transformers":
            # Prices, rate limits and keys are left out: changing them must not ask anything again. So is
            # the name, which says where answers are kept; a renamed model takes them over.
            return {"provider": self.provider, "weights": weights_digest(self.model), "dtype": self.dtype}
        # Only where they are set: answers kept before these keys existed stay what they are.
        chosen = {
            "effort": self.effort,
            "verbosity": self.verbosity,
            "thinking_tokens": self.thinking_tokens,
            "observer": self.observer.identity_fields() if self.provider == "simulated" else None,
        }
        return {
            "provider": self.provider,
            "base_url": address(self.provider, self.base_url),
            "model": self.model,
            "extra_body": self.extra_body,
            **{name: value for name, value in chosen.items() if value is not None},
        }


@functools.lru_cache(maxsize=256)
def address(provider: str, base_url: str | None) -> str | None:
    """Return ``base_url`` in its one spelling (the path as it is), ``None`` for the provider's official address."""
    if base_url is None:
        return None
    try:
        parts = urlsplit(base_url)
    except ValueError:  # no address at all: whoever calls it says so
        return base_url
    host = parts.netloc.lower()
    default = {"http": ":80", "https": ":443"}.get(parts.scheme)
    if default is not None:
        host = host.removesuffix(default)
    spelled = f"{parts.scheme}://{host}{parts.path.rstrip('/')}"
    return None if spelled == OFFICIAL_URLS.get(provider) else spelled


def base_url(spec: ModelSpec) -> str:
    """Return the address calls of ``spec`` go to: of an OpenAI-compatible server with ``/v1``, of others without."""
    return address(spec.provider, spec.base_url) or OFFICIAL_URLS[spec.provider]


def key_variable(spec: ModelSpec) -> str | None:
    """Return the variable with the key of ``spec``: to another than the official address only where the study names it."""
    usual = KEY_VARIABLES.get(spec.provider) if spec.at_official_address else None
    return spec.api_key_env or usual


def key_of(spec: ModelSpec, environment: Mapping[str, str]) -> str | None:
    """Return the key of ``spec``, ``None`` where it needs none. ``StudyError`` names the variable and never its value."""
    variable = key_variable(spec)
    if variable is None:
        return None
    given = environment.get(variable)
    key = (given or "").strip()
    # fit for a header
    if key and key.isascii() and key.isprintable() and " " not in key:
        return key
    found = "is not set" if given is None else "holds characters no key has" if key else "is set but empty"
    raise StudyError(f"model {spec.name}: environment variable {variable} {found}; export your key under it")
