"""The words put to designers, analysts and verifying judges: texts with places in double braces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from metacog_pipeline.files import canonical_json, read_toml, sha256_hex, shipped

PLACE = re.compile(r"\{\{([a-z_]+)\}\}")


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

    def filled(self, name: str, **parts: str) -> str:
        """Return a text with its places filled in, all at once: what is filled in is not searched for places."""
        return PLACE.sub(lambda place: parts.get(place[1], place[0]), self.texts[name])


def load_words() -> Words:
    """Read the project's texts."""
    texts = read_toml(shipped("data", "medley", "construction.toml"))
    return Words({name: text.strip() for name, text in texts.items()})


def parts_of(text: str, filled: str) -> dict[str, str] | None:
    """Return what stands in the places of ``text`` in a filled one; None where it was not made from it.

    What follows the last words of the text, such as a request to answer again, is passed over.
    """
    names = PLACE.findall(text)
    literal = [re.escape(part) for part in PLACE.split(text.strip())[::2]]
    found = re.match("(.*?)".join(literal), filled, re.DOTALL)
    return None if found is None else dict(zip(names, map(str.strip, found.groups()), strict=True))
