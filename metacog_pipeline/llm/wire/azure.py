"""Where calls in OpenAI's formats go: the path and key header of Azure's addresses differ from everybody else's.

An Azure address names a resource; the deployment, which the study gives as ``model``, stands in the path, and the
version of the API in the query. An address that ends in ``/openai/v1`` is Azure's newer one: no deployment, no version.
"""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.wire.address import base_url

HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")


def is_azure(spec: ModelSpec) -> bool:
    """Return whether ``spec`` is asked at an Azure address: its host says so, or ``api_version`` is set."""
    try:
        host = urlsplit(base_url(spec)).hostname or ""
    except ValueError:  # no address at all: the transport says so
        host = ""
    return spec.api_version is not None or host.endswith(HOSTS)


def url(spec: ModelSpec, operation: str) -> str:
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


def headers(spec: ModelSpec, key: str | None) -> dict[str, str]:
    """Return the headers of a call."""
    sent = {"accept": "application/json", "content-type": "application/json"}
    if key:
        sent |= {"api-key": key} if is_azure(spec) else {"authorization": f"Bearer {key}"}
    return sent
