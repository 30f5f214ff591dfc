"""Measure what language models know about what they know.

From Python: ``import metacog_pipeline as mp``, then ``mp.open_study("study.toml")`` (see `api`); ``mp.stats`` holds the
statistics on plain arrays. Both are imported when they are first named: the command line must list its commands at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metacog_pipeline import stats
    from metacog_pipeline.api import OpenStudy, open_study
    from metacog_pipeline.errors import MetacogError

__version__ = "0.4.0"
__all__ = ["MetacogError", "OpenStudy", "open_study", "stats"]

_WHERE = {"MetacogError": "errors", "OpenStudy": "api", "open_study": "api"}


def __getattr__(name: str) -> Any:
    """Import what is exported when it is first named."""
    if name == "stats":
        return import_module("metacog_pipeline.stats")
    if name in _WHERE:
        return getattr(import_module(f"metacog_pipeline.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return what is exported."""
    return sorted([*__all__, "__version__"])
