"""What is wrong with a query, in words of this house: DuckDB finds it, these say what to ask instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from metacog_pipeline.errors import suggestion

_TABLE = re.compile(r'Table with name "?([^"!]+?)"? does not exist')
_COLUMN = re.compile(
    r'Referenced column "?([^"]+?)"? not found|Table "\w+" does not have a column named "([^"]+)"'
)
_NEAR = re.compile(r'syntax error at or near "(.*?)"', re.DOTALL)
_END = re.compile(r"syntax error at end of input")
_PLACE = re.compile(r"\s*LINE \d+:.*", re.DOTALL)  # the line again, with a mark below it
_FILE = re.compile(r'Cannot access (?:file|directory) "(.*?)"', re.DOTALL)
_FUNCTION = re.compile(r"No function matches the given name and argument types '([^']+)'")
_GROUPED = re.compile(r'column "?([^"]+?)"? must appear in the GROUP BY clause')
_KIND = re.compile(r"^[A-Z][A-Za-z ]* Error: ")


def words(message: str, tables: Callable[[], Iterable[str]]) -> str:
    """Return what is wrong and what to do; ``tables`` are looked up only where one is not known."""
    if found := _TABLE.search(message):
        return _no_table(found[1], list(tables()))
    if found := _COLUMN.search(message):
        name = found[1] or found[2]
        near = re.findall(r'"([^"]+)"', message[found.end() :].partition("LINE ")[0])
        close = suggestion(name, near)
        return f'no column "{name}"{close}; "describe TABLE" lists those of a table; text stands in \'single quotes\''
    if found := _NEAR.search(message):
        return (
            f'not SQL from "{found[1]}" on; give one SELECT, as in: select model, estimate from leaderboard'
        )
    if _END.search(message):
        return "not SQL: it ends too early; give one SELECT, as in: select model, estimate from leaderboard"
    if found := _FILE.search(message):
        return f'the file "{found[1]}" cannot be read here; give a table of the leaderboard ("show tables" lists them)'
    if found := _FUNCTION.search(message):
        return (
            f'no function takes these types: {found[1]}; look them up with "describe TABLE", or use try_cast'
        )
    if found := _GROUPED.search(message):
        return f'column "{found[1]}" stands beside an aggregate; add: group by {found[1]}'
    return f"the database refuses it: {_KIND.sub('', _PLACE.sub('', message))}"


def _no_table(name: str, known: Sequence[str]) -> str:
    """Say that no table ``name`` is there; one that is there was asked for in a schema it does not stand in."""
    if name in known:
        return f'table "{name}" does not stand in that schema; ask "from {name}"'
    return f'no table "{name}"{suggestion(name, known)}; "show tables" lists all there are'
