"""The official clients of providers, imported by the first test that uses one.

Together they take 2 s of processor time, and each worker of `make test` collects the files of all tests.
"""

import importlib
from typing import Any


class Later:
    """A package that is imported when something of it is looked up."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, what: str) -> Any:
        if what.startswith("_"):  # pytest asks all that a file holds for `__test__` and others
            raise AttributeError(what)
        return getattr(importlib.import_module(self._name), what)


anthropic, openai = Later("anthropic"), Later("openai")
genai, gemini_types = Later("google.genai"), Later("google.genai.types")
