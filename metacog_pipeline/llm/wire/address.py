"""Where each provider answers, and which key goes there."""

from __future__ import annotations

from collections.abc import Mapping

from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import OFFICIAL_URLS, ModelSpec, address

KEY_VARIABLES: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
}


def base_url(spec: ModelSpec) -> str:
    """Return the address calls of ``spec`` go to, without a trailing slash: its own, or the provider's official one.

    As with the providers' own clients, the address of an OpenAI-compatible server includes ``/v1``, the others do not.
    """
    return address(spec.provider, spec.base_url) or OFFICIAL_URLS[spec.provider]


def key_variable(spec: ModelSpec) -> str | None:
    """Return the environment variable that holds the key of ``spec``, ``None`` where it needs none.

    A key is never sent to another than the official address, unless the study names its variable.
    """
    usual = KEY_VARIABLES.get(spec.provider) if spec.at_official_address else None
    return spec.api_key_env or usual


def key_of(spec: ModelSpec, environment: Mapping[str, str]) -> str | None:
    """Return the key of ``spec`` from ``environment``, ``None`` where it needs none.

    Raises ``StudyError``, which names the variable and never its value, where there is nothing in it that can be a key.
    """
    variable = key_variable(spec)
    if variable is None:
        return None
    given = environment.get(variable)
    key = (given or "").strip()
    if key and key.isascii() and key.isprintable() and " " not in key:  # can stand in a header
        return key
    found = "is not set" if given is None else "holds characters no key has" if key else "is set but empty"
    raise StudyError(f"model {spec.name}: environment variable {variable} {found}; export your key under it")
