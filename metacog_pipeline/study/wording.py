"""Words to ask in, from files: read key by key, errors naming file, key and value; read again only when they change."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.files import read_toml
from metacog_pipeline.study import Study
from metacog_pipeline.study.allowed import not_toml

WordsT = TypeVar("WordsT")


def words_of(study: Study, given: Path | None, load: Callable[[Path | None], WordsT]) -> WordsT:
    """Return ``load`` of the file or folder the study names, of None where it names none."""
    # Read once for each version of the files, so that whoever has them loaded again gets the same object.
    path = None if given is None else study.beside(given)
    found: WordsT = _loaded(load, path, () if path is None else _state_of(path))
    return found


def read_words(path: Path, what: str = "prompt file") -> dict[str, object]:
    """Return the table of a TOML file; StudyError where it cannot be read."""
    try:
        return read_toml(path)
    except OSError as error:
        raise StudyError(f"{what} {path} cannot be read: {error.strerror}; give a UTF-8 TOML file") from None
    except (ValueError, RecursionError) as error:
        said = not_toml(error) if isinstance(error, ValueError) else "nested too deeply"
        raise StudyError(f"{what} {path} cannot be read: {said}; give a UTF-8 TOML file") from None


def require_known(where: str, table: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise StudyError for a key that is not allowed, with the one that was probably meant."""
    names = tuple(allowed)
    for key in table:
        if key not in names:
            raise StudyError(
                f"{where}: unknown key {key!r}{suggestion(key, names)}; allowed are: {', '.join(names)}"
            )


def require_text(where: str, value: object) -> str:
    """Return a text; raise StudyError for an empty one and for what is none."""
    if not (isinstance(value, str) and value.strip()):
        raise StudyError(f"{where} = {value!r} must be a text that is not empty")
    return value


def system_text(path: Path, data: Mapping[str, object], usual: str) -> str:
    """Return the system message of a file, ``usual`` where it names none; it may be empty."""
    system = data.get("system", usual)
    if not isinstance(system, str):
        raise StudyError(f'{path}: system = {system!r} must be a text ("" for no system message)')
    return system


@functools.lru_cache(maxsize=32)  # a study of a hundred models looks here hundreds of times
def _loaded(load: Callable[[Path | None], Any], path: Path | None, changed: tuple[object, ...]) -> Any:
    return load(path)


def _state_of(path: Path) -> tuple[object, ...]:
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    found = [(file.name, file.stat()) for file in files if file.is_file()]
    return tuple((name, state.st_mtime_ns, state.st_size, state.st_ino) for name, state in found)
