"""Where each provider answers, and which key goes there.

The path and key header of Azure's addresses differ from everybody else's. An Azure address names a resource; the
deployment, which the study gives as ``model``, stands in the path, and the version of the API in the query. An address
that ends in ``/openai/v1`` is Azure's newer one: no deployment, no version.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import OFFICIAL_URLS, ModelSpec, address

KEY_VARIABLES: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
}
AZURE_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")


def base_url(spec: ModelSpec) -> str:
    """Return the address calls of ``spec`` go to, without a trailing slash: its own, or the provider's official one.

    As with the providers' own clients, the address of an OpenAI-compatible server includes ``/v1``, the others do not.
    """
    return address(spec.provider, spec.base_url) or OFFICIAL_URLS[spec.provider]


def key_variable(spec: ModelSpec) -> str | None:
    """Return the environment variable that holds the key of ``spec``, ``None`` where it needs none.

    The provider's usual variable is only taken for the official address: a key is never sent to another address
    unless the study names its variable.
    """
    if spec.api_key_env is not None:
        return spec.api_key_env
    return KEY_VARIABLES.get(spec.provider) if spec.at_official_address else None


def key_of(spec: ModelSpec, environment: Mapping[str, str]) -> str | None:
    """Return the key of ``spec`` from ``environment``, ``None`` where it needs none.

    Raises ``StudyError``, which names the variable and never its value, when the variable is unset or empty, or holds
    characters that cannot stand in a header.
    """
    variable = key_variable(spec)
    if variable is None:
        return None
    given = environment.get(variable)
    key = (given or "").strip()
    if not key:
        found = "is not set" if given is None else "is set but empty"
        raise StudyError(
            f"model {spec.name}: environment variable {variable} {found}; export your key under it"
        )
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise StudyError(
            f"model {spec.name}: environment variable {variable} holds characters no key has; set it again"
        )
    return key


def is_azure(spec: ModelSpec) -> bool:
    """Return whether ``spec`` is asked at an Azure address: its host says so, or ``api_version`` is set."""
    return spec.api_version is not None or _host(base_url(spec)).endswith(AZURE_HOSTS)


@functools.lru_cache(maxsize=64)
def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # no address at all: the transport says so
        return ""


def openai_url(spec: ModelSpec, operation: str) -> str:
    """Return the address of ``operation``: ``chat/completions`` or ``responses``."""
    root = base_url(spec)
    if not is_azure(spec):
        return f"{root}/{operation}"
    version = f"?api-version={spec.api_version}" if spec.api_version else ""
    if "/deployments/" in root:
        return f"{root}/{operation}{version}"
    if not root.endswith(("/openai", "/openai/v1")):
        root += "/openai"
    if not version and root.endswith("/openai"):
        root += "/v1"
    if operation == "chat/completions" and not root.endswith("/v1"):
        operation = f"deployments/{quote(spec.model, safe='')}/{operation}"
    return f"{root}/{operation}{version}"


def openai_headers(spec: ModelSpec, key: str | None) -> dict[str, str]:
    """Return the headers of a call."""
    sent = {"accept": "application/json", "content-type": "application/json"}
    if key:
        sent |= {"api-key": key} if is_azure(spec) else {"authorization": f"Bearer {key}"}
    return sent
