"""A judge's reply → its verdict. What the judge repeats of the reply it judges is no verdict."""

from __future__ import annotations

import re

from metacog_pipeline.reading.envelope import Envelope
from metacog_pipeline.reading.fields import NOTHING, Binary, Found, simple
from metacog_pipeline.reading.reader import read


class Verdict(Binary):
    """One of the two words, under its name or all but alone: "it would pass if" is no verdict."""

    def find(self, text: str) -> Found:
        """Find the only verdict that a few words name."""
        return Binary.find(self, text) if len(simple(text).split()) <= MOST_WORDS else NOTHING


MOST_WORDS = 4
_VERDICT = Verdict({"1": ("pass", "passes", "passed"), "0": ("fail", "fails", "failed")}, "decision")
_QUOTED = re.compile(r"^[ \t]*[>|][^\n]*", re.MULTILINE)


def parse_verdict(text: str) -> bool | None:
    """Return whether a judgement passes the reply; None for one that does not say, or says both."""
    found = read(Envelope.of(_QUOTED.sub("", text)), [_VERDICT])["decision"]
    return bool(found.value) if found.status == "ok" else None
