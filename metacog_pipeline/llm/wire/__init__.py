"""Wire formats as pure functions: a request becomes one HTTP call, an HTTP answer becomes a ``Completion``."""

from metacog_pipeline.llm.spec import Provider
from metacog_pipeline.llm.wire.anthropic import MessageReply
from metacog_pipeline.llm.wire.events import Reply
from metacog_pipeline.llm.wire.gemini import ContentReply
from metacog_pipeline.llm.wire.openai import ChatReply

_WIRES: dict[str, type[Reply]] = {"openai": ChatReply, "anthropic": MessageReply, "gemini": ContentReply}


def wire_for(provider: Provider) -> type[Reply]:
    """Return the wire format of ``provider``. Raises ``ValueError`` for one that answers without HTTP."""
    if provider not in _WIRES:
        raise ValueError(f"provider {provider!r} answers in this process and has no wire format")
    return _WIRES[provider]
