"""Which keys of a model its provider takes, and which words: one line says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metacog_pipeline.errors import suggestion

EFFORTS: Mapping[str, tuple[str, ...]] = {
    "openai": ("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    "anthropic": ("low", "medium", "high", "xhigh", "max"),
    "gemini": ("minimal", "low", "medium", "high", "xhigh"),
}
VERBOSITIES = ("low", "medium", "high")
WITH_BATCHES = ("openai", "anthropic", "gemini")
LEAST_ANTHROPIC_BUDGET = 1024  # tokens; the provider refuses a smaller allowance
#: The key of a study → the providers that take it.
TAKEN_BY: Mapping[str, tuple[str, ...]] = {
    "effort": tuple(EFFORTS),
    "thinking_tokens": tuple(EFFORTS),
    "verbosity": ("openai",),
    "lane": WITH_BATCHES,
    "batch_factor": WITH_BATCHES,
}
PARTS = {"price_cached_in": "price_in", "price_cache_write": "price_in", "price_reasoning": "price_out"}


def problem(key: str, value: object, row: Mapping[str, object]) -> str | None:
    """Return what is wrong with ``key = value`` in a model's ``row`` (what stands before it), ``None`` where nothing is."""
    provider = row.get("provider")
    if not isinstance(provider, str) or value is None:
        return None
    takers = TAKEN_BY.get(key)
    if takers is not None and provider not in takers and value not in ("auto", "online"):
        return f"provider {provider} takes no {key} (only {_listed(takers)} {_do(takers)}); remove the key"
    match key:
        case "effort":
            return _word(str(value), EFFORTS[provider], provider)
        case "verbosity":
            return _word(str(value), VERBOSITIES, provider)
        case "thinking_tokens":
            return _thinking(value, row)
        case _ if key in PARTS and provider in EFFORTS and row.get(PARTS[key]) is None:
            return f"set {PARTS[key]} too: {key} is the price of a part of it"
    return None


def _thinking(value: object, row: Mapping[str, object]) -> str | None:
    tokens, provider = int(str(value)), row["provider"]
    if provider == "anthropic" and 0 < tokens < LEAST_ANTHROPIC_BUDGET:
        return f"provider anthropic takes no thinking (0) or at least {LEAST_ANTHROPIC_BUDGET:,} tokens of it"
    if provider == "gemini" and row.get("effort") is not None:
        return "provider gemini takes effort or thinking_tokens, not both; remove one of them"
    return None


def _word(value: str, words: Sequence[str], provider: str) -> str | None:
    if value in words:
        return None
    return f"not a word of provider {provider}{suggestion(value, words)}; allowed: {', '.join(words)}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _do(names: Sequence[str]) -> str:
    return "does" if len(names) == 1 else "do"
