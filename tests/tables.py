"""Many cases of one rule as one test, which costs what its cases do: a test of each case costs more than most of them."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

LONGEST = 200  # characters of a case that are told


def every(
    names: str | Sequence[str], cases: Iterable[Any], ids: Sequence[str] | Callable[[Any], Any] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Stand in for ``pytest.mark.parametrize`` where no fixture has to be made anew for each case.

    Every case is tried, whatever the others do, and those that fail are named. A skip is told when none fails.
    """
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = list(cases)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def tried(**fixtures: Any) -> None:
            if not table:
                pytest.skip("there are no cases here")
            failed: dict[str, Exception] = {}
            skipped: list[pytest.skip.Exception] = []
            for place, case in enumerate(table):
                try:
                    _skip_if_marked(case)
                    test(**dict(zip(wanted, _values(wanted, case), strict=True)), **fixtures)
                except pytest.skip.Exception as skip:
                    skipped.append(skip)
                except (Exception, pytest.fail.Exception) as error:
                    failed[_label(wanted, case, place, ids)] = error  # type: ignore[assignment]
            if failed:
                first = next(iter(failed.values()))
                told = "".join(f"\n  {label}: {str(error)[:LONGEST]}" for label, error in failed.items())
                raise AssertionError(f"{len(failed)} of {len(table)} cases fail:{told}") from first
            if skipped:
                raise skipped[0]

        found = inspect.signature(test)
        left = [each for name, each in found.parameters.items() if name not in wanted]
        assert len(left) == len(found.parameters) - len(wanted), f"{test.__name__} takes {wanted}"
        tried.__signature__ = found.replace(parameters=left)  # type: ignore[attr-defined]
        return tried

    return decorate


def _skip_if_marked(case: Any) -> None:
    for mark in getattr(case, "marks", ()) if isinstance(case, type(pytest.param())) else ():
        assert mark.name == "skip", "another mark is of a test, not of a case"
        pytest.skip(*(mark.args or (mark.kwargs["reason"],)))


def _values(names: Sequence[str], case: Any) -> Sequence[Any]:
    if isinstance(case, type(pytest.param())):
        return case.values
    return case if len(names) > 1 else (case,)


def _label(names: Sequence[str], case: Any, place: int, ids: Any) -> str:
    values = _values(names, case)
    own = getattr(case, "id", None) if values is not case else None
    if own is None and ids:
        own = ids(case) if callable(ids) else ids[place]
    return f"{place} ({own or ', '.join(map(repr, values))[:LONGEST]})"
