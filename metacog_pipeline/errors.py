"""Errors a user can cause or correct: one line each (what, value, where, what to do), and the exit code of the command."""

from __future__ import annotations

from collections.abc import Iterable


class MetacogError(Exception):
    """Base of every error shown to a user as one line.

    Line breaks and control characters of ``message`` are flattened: parts of it may come from files, models or the network.
    """

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


class StudyError(MetacogError):
    """The study file or a command-line value is wrong."""

    exit_code = 2


class SourceError(MetacogError):
    """A source is missing, unreadable, or not the content it is pinned to."""

    exit_code = 3


class StoreError(MetacogError):
    """Kept answers cannot be read or written safely."""

    exit_code = 4


class BudgetError(MetacogError):
    """The next call could pass the budget, or its price is unknown."""

    exit_code = 5


class ProviderError(MetacogError):
    """A provider rejects every call of a model: bad key, unknown model name, no credit."""

    exit_code = 6


def one_line(text: str, limit: int = 1000) -> str:
    """Return ``text`` on one printable line of at most ``limit`` characters: what is cut is its middle.

    A long value is cut: what happened comes before it, what to do after it.
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text.encode("utf-8", "replace").decode("utf-8"))
    flat = " ".join(text.split())
    begin = limit * 3 // 5
    return flat if len(flat) <= limit else f"{flat[:begin]}…{flat[begin + 1 - limit :]}"


def reason_of(error: Exception) -> str:
    """Return why something failed, on one line: the message for users, that of the disk, or the fault's name."""
    if isinstance(error, MetacogError):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:
        return one_line(f"{error.filename}: {error.strerror}: free space or fix permissions and run again")
    return one_line(f"{type(error).__name__}: {error}")


def suggestion(word: str, allowed: Iterable[str]) -> str:
    """Return words about the allowed name closest to ``word``; nothing where none is close."""
    import difflib  # only who made a mistake waits for it

    names = {name.lstrip("-").casefold(): name for name in allowed}  # two dashes make any two options alike
    said = word.lstrip("-").casefold()
    close = difflib.get_close_matches(said, names, n=1, cutoff=0.5 if len(said) < 4 else 0.6)
    begun = [name for name in names if len(said) > 2 and name.startswith(said)]
    return f' (did you mean "{names[(close or begun)[0]]}"?)' if close or begun else ""
