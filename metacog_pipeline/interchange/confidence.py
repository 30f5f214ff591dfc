"""The confidence of a table's rows, put on the scale that a benchmark asks for.

The scale is declared, or the benchmark's own where no narrower one fits; it is never guessed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange import cells
from metacog_pipeline.interchange.answer_cells import SHOWN, RowError, shown
from metacog_pipeline.interchange.cells import missing, number
from metacog_pipeline.interchange.import_rules import ImportOptions, RowRules
from metacog_pipeline.reading.envelope import plain
from metacog_pipeline.stats.confidence_scale import fitting_scales, two_scales

# Of stated confidences, or one, may be off the benchmark's scale: more than that is another scale.
_TOLERATED = 0.1


class Confidence:
    """Puts confidences on the scale that the benchmark asks for, and remembers which there were."""

    def __init__(self, path: Path, rules: RowRules, options: ImportOptions) -> None:
        self._path, self._options, self._declared = path, options, options.scale
        self._own, self._whole = rules.scale, rules.whole_ratings
        self._stated = Counter[float]()
        self._signed: float | None = None  # one with a per cent sign
        self._share: float | None = None  # one between 0 and 1 without
        self._missing = self._words = 0

    def rating(self, said: Mapping[str, Any], name: str, row: int) -> str | None:
        """Return the confidence in a field of a row as a reply would state it; None where it states none."""
        value = said.get(name)
        if number(value) is None:
            value = self._options.word(value)
        # programs write -1 where none was read, off a scale that has a -1
        if missing(value) or ((self._declared or self._own).low >= 0 and number(value) == -1):
            self._missing += name in said
            return None
        return self.take(value, row)

    def take(self, value: Any, row: int) -> str:
        """Return a confidence as a reply would state it; raise `RowError` for one off its scale."""
        text = plain(str(value)).strip().lstrip("~≈ ")
        if cells.COMMA.match(text):
            raise StudyError(
                f"{self._path} row {row}: confidence {shown(value)} is a number with a comma; write it with a decimal "
                "point and no separators of thousands; nothing was kept"
            )
        found, own, scale = number(text), self._own, self._declared or self._own
        if found is None:
            self._words += 1
            if scale != own:
                raise RowError(f"confidence {shown(value)} is no number on {scale}")
            return one_line(text, SHOWN)  # read, and not understood, as in a reply
        self._stated[found] += 1
        if text.endswith("%"):
            self._signed = found
        elif 0 < found < 1:
            self._share = found
        if scale == own:  # as it is written, 4.0 of a rating as 4
            whole = self._whole and found.is_integer()
            return str(int(found)) if whole else text.removesuffix("%").strip()
        if (share := scale.share(found)) is None:
            raise RowError(f"confidence {shown(value)} is outside {scale}")
        put = own.low + (own.high - own.low) * share
        # not in powers of ten: a reader takes 1e-05 for 1
        return str(math.floor(put + 0.5)) if self._whole else f"{put:.4f}".rstrip("0").rstrip(".")

    def check(self) -> None:
        """Refuse confidence on two scales, or on no declared one and off the benchmark's or a narrower one's."""
        stated, own = self._stated.total(), self._own
        if two := self._two_scales():
            raise StudyError(f"{self._path}: of {stated} confidences {two}; nothing was kept")
        if self._declared is not None or not stated:
            return
        low, high = min(self._stated), max(self._stated)
        fits_own = {v: own.low <= v <= own.high and not (self._whole and v % 1) for v in self._stated}
        off = sum(n for value, n in self._stated.items() if not fits_own[value])
        fits = fitting_scales(low, high, whole=all(value.is_integer() for value in self._stated))
        spans = [each.high - each.low for each in map(cells.parse_scale, fits) if each is not None]
        narrower = any(span < own.high - own.low for span in spans)
        if off <= max(1.0, _TOLERATED * stated) and not (off == 0 and narrower):
            return
        kind = f"rating {own.low:g} to {own.high:g}" if self._whole else f"number on {own}"
        why = f"{off} of {stated} confidences are no {kind}; they" if off else f"all {stated} confidences"
        ways = " or ".join(f"--scale {name}" for name in fits or ("LOW..HIGH",))
        ask = f"run from {low:g} to {high:g}: say on which scale, as in {ways}; nothing was kept"
        raise StudyError(f"{self._path}: {why} {ask}")

    def _two_scales(self) -> str:
        known = self._declared is not None or self._whole
        if self._signed is None:
            return two_scales(self._stated, known)
        if known or self._share is None:
            return ""
        some = f"some such as {self._signed:g} have a per cent sign, some such as {self._share:g} have none"
        return f"{some}: two scales seem to be mixed; write all of them one way"

    def __str__(self) -> str:
        if not (self._stated or self._words):
            return "no column holds a confidence"
        own, scale = self._own, self._declared
        note = f"on {scale}" if scale else f"taken as {'a rating' if self._whole else 'on'} {own}"
        note += f", put on {own}" if scale not in (None, own) else ""
        ends = f" from {min(self._stated):g} to {max(self._stated):g}" if self._stated else ""
        return f"confidence{ends}, {note}, {self._missing} missing, {self._words} not numbers"
