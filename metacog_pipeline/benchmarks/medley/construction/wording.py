"""The words put to designers, analysts and verifying judges: texts with places in double braces, from a TOML file."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.benchmarks.medley.construction.reading import read_document, text_of
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.llm.types import Message
from metacog_pipeline.querying.types import Ask, Task

SCALE_TEXT = "scale"
_PLACES: Mapping[str, frozenset[str]] = {
    "scale": frozenset(),
    "design": frozenset({"scenario", "ambiguity", "difficulty", "claims", "known_answer"}),
    "design_known_answer": frozenset({"answer", "why", "target"}),
    "analyst": frozenset({"vignette", "claims", "scale"}),
    "analyst_again": frozenset(),
    "verify": frozenset({"vignette", "claim", "consensus"}),
    "design_again": frozenset(),
    "verify_again": frozenset(),
}
_PLACE = re.compile(r"\{\{([a-z_]+)\}\}")


@dataclass(frozen=True, slots=True)
class Words:
    """The texts by their names."""

    texts: Mapping[str, str]

    @property
    def versions(self) -> tuple[str, ...]:
        """Name and digest of each text, as the gates want them on record."""
        return tuple(f"{name}@{sha256_hex(text)[:12]}" for name, text in sorted(self.texts.items()))

    @property
    def digest(self) -> str:
        """SHA-256 over all texts."""
        return sha256_hex(canonical_json(dict(self.texts)))

    def text(self, name: str) -> str:
        """Return a text as it stands."""
        return self.texts[name]

    def again(self, name: str, message: Message) -> Message:
        """Return a request once more, with what was wrong with the reply."""
        return Message("user", f"{message.content}\n\n{self.text(f'{name}_again')}")

    def filled(self, name: str, **parts: str) -> str:
        """Return a text with its places filled in, all at once: what is filled in is not searched for places."""
        return _PLACE.sub(lambda place: parts.get(place[1], place[0]), self.texts[name])


def load_words(path: Path | None = None) -> Words:
    """Read the project's texts, or another file of the same keys.

    Raises
    ------
    SourceError
        For a file that cannot be read, a text that is missing, or one whose places are not exactly the known ones.
    """
    path = shipped("data", "medley", "construction.toml") if path is None else path
    given = read_document(path)
    unknown = sorted(set(given) - set(_PLACES))
    if unknown:
        raise SourceError(f"{path}: unknown text {unknown[0]!r}; there are: {', '.join(_PLACES)}")
    texts = {name: text_of(given, name, str(path)) for name in _PLACES}
    for name, text in texts.items():
        found = set(_PLACE.findall(text))
        if found != _PLACES[name]:
            odd = sorted(found ^ _PLACES[name])[0]
            raise SourceError(f"{path}: {name}: {{{{{odd}}}}} is missing or unknown; mend the text")
    return Words(texts)


def parts_of(text: str, filled: str) -> dict[str, str] | None:
    """Return what stands in the places of ``text`` in a filled one; None where it was not made from it.

    What follows the last words of the text, such as a request to answer again, is passed over.
    """
    names = _PLACE.findall(text)
    literal = [re.escape(part) for part in _PLACE.split(text.strip())[::2]]
    found = re.match("(.*?)".join(literal), filled, re.DOTALL)
    return None if found is None else dict(zip(names, map(str.strip, found.groups()), strict=True))


Asked = tuple[str, str, Message, Callable[[str], object]]
"""Name and digest of what is asked, the message, and how a reply is read: None where it cannot be."""


def tasks(
    asked: Iterable[Asked], words: Words, kind: str, calls: tuple[str, str], condition: str
) -> list[Task]:
    """Return tasks of one call, and a second with the reason where the reply to the first cannot be read."""

    async def run(message: Message, read: Callable[[str], object], ask: Ask, mode: str) -> None:
        answer = await ask(calls[0], [message])
        if read(answer.text) is None:
            await ask(calls[1], [words.again(kind, message)])

    return [
        Task(name, digest, condition, functools.partial(run, message, read))
        for name, digest, message, read in asked
    ]


def numbered_claims(claims: Mapping[str, str]) -> str:
    """Return one line per claim, its id first."""
    return "\n".join(f"{claim}: {text}" for claim, text in claims.items())
