"""Which family each analyst of the published pool belongs to: who made the model it was built on."""

from __future__ import annotations

# The first part that occurs in the last part of a model's name decides, so the special ones stand first.
_PARTS = (
    ("medgemma", "medgemma"),
    ("gemini-design", "design"),
    ("gemma", "gemma"),
    ("gemini", "gemini"),
    ("gpt-oss", "gpt_oss"),
    ("claude", "claude"),
    ("deepseek", "deepseek"),
    ("devstral", "mistral"),
    ("magistral", "mistral"),
    ("ministral", "mistral"),
    ("mistral", "mistral"),
    ("glm", "glm"),
    ("llama", "llama"),
    ("minimax", "minimax"),
    ("nemotron", "nemotron"),
    ("qwen", "qwen"),
)
UNKNOWN = "unknown"


def published_family(model_id: str) -> str:
    """Return the family of a published analyst by its name; ``unknown`` for a name of none of them."""
    name = model_id.rsplit("/", 1)[-1].lower()
    return next((family for part, family in _PARTS if part in name), UNKNOWN)
