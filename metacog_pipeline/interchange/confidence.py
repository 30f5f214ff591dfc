"""A column of confidence: its scale is declared, or the benchmark's own where no other fits; it is never guessed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange.columns import (
    SHOWN,
    RowError,
    Scale,
    has_comma,
    missing,
    number,
    parse_scale,
    shown,
    whole,
)
from metacog_pipeline.interchange.import_rules import ImportOptions, RowRules
from metacog_pipeline.reading.envelope import plain
from metacog_pipeline.stats.confidence_scale import fitting_scales, two_scales

_LEAST_STATED = 10  # confidences from which a scale shows
_FEW, _HIGHEST_RATING = 3, 10
_TOLERATED = 0.1  # of stated confidences that are off the benchmark's scale: more than that is another scale


class Confidence:
    """Puts confidences on the scale that the benchmark asks for, and remembers which there were."""

    def __init__(self, path: Path, rules: RowRules | type[RowRules], declared: Scale | None) -> None:
        self._path, self._rules, self.declared = path, rules, declared
        self._own: Scale = rules.scale
        self._whole = rules.whole_ratings
        self._stated: Counter[float] = Counter()
        self._signed: Counter[float] = Counter()  # those of them with a per cent sign
        self._words: Counter[str] = Counter()
        self.missing = 0

    def stated(self, said: Mapping[str, Any], options: ImportOptions, row: int) -> dict[str, Any]:
        """Return the fields of an answer that say something, words replaced and confidence on the scale asked for."""
        found: dict[str, Any] = {}
        for name in self._rules.own:
            value, rated = said.get(name), name in self._rules.rated
            if not rated or number(value) is None:
                value = options.word(value)
            if rated and self.none_stated(value):
                self.missing += name in said
            elif rated:
                found[name] = self.take(value, row)
            elif not missing(value):
                found[name] = value
        return found

    def none_stated(self, value: Any) -> bool:
        """Whether a cell has none: also the -1 by which programs say that none was read, off a scale that has a -1."""
        return missing(value) or ((self.declared or self._own).low >= 0 and number(value) == -1)

    def take(self, value: Any, row: int | str) -> str:
        """Return a confidence as a reply would state it; raise `RowError` for one off its scale."""
        if isinstance(value, str) and not (value.isascii() and value.isdecimal()):
            value = plain(value).strip().lstrip("~≈ ")
            if has_comma(value):
                raise StudyError(
                    f"{self._path} row {row}: confidence {shown(value)} is a number with a comma; write it with a decimal "
                    "point and no separators of thousands; nothing was kept"
                )
        found, signed = number(value), isinstance(value, str) and value.endswith("%")
        if found is None:
            self._words[one_line(str(value).strip(), 20)] += 1
        else:
            self._stated[found] += 1
            self._signed[found] += signed
        return self._rated(value if not signed or found is None or self._whole else f"{found:g}", found)

    def _rated(self, value: Any, stated: float | None) -> str:
        own, scale = self._own, self.declared or self._own
        if scale == own:
            exact = whole(value)
            if exact is not None or stated is None or "e" not in str(value).casefold():
                return one_line(str(value).strip(), SHOWN) if exact is None else str(exact)
        if stated is None:
            raise RowError(f"confidence {shown(value)} is no number on {scale}")
        if (share := scale.share(stated)) is None:
            raise RowError(f"confidence {shown(value)} is outside {scale}")
        put = stated if scale == own else own.low + (own.high - own.low) * share
        if self._whole and scale != own:
            return str(math.floor(put + 0.5))
        text = f"{put:.6g}"  # a reader takes 1e-05 for 1
        return text if "e" not in text else f"{put:.6f}".rstrip("0").rstrip(".")

    def check(self) -> None:
        """Refuse confidence in words, on two scales, or on no declared one and off the benchmark's or a narrower one's."""
        stated, words = self._stated.total(), self._words.total()
        if words > max(stated, _LEAST_STATED):
            first = ", ".join(repr(word) for word, _ in self._words.most_common(3))
            raise StudyError(
                f"{self._path}: {words} of {stated + words} confidences are no number, such as {first}; nothing was kept; "
                "replace words, as in --map-values high=5,low=1, or name another column"
            )
        if two := self._two_scales(stated):
            raise StudyError(f"{self._path}: of {stated} confidences {two}; nothing was kept")
        if self.declared is not None or not stated:
            return
        own, low, high = self._own, min(self._stated), max(self._stated)
        # a few shares, or ratings up to 10, are hardly chances of some percent
        shares = high <= 1 and any(value % 1 for value in self._stated)
        low_only = not self._whole and (shares or (high <= _HIGHEST_RATING and stated >= _FEW))
        if stated < _LEAST_STATED and not low_only:
            return
        fits_own = {v: own.low <= v <= own.high and not (self._whole and v % 1) for v in self._stated}
        off = sum(n for value, n in self._stated.items() if not fits_own[value])
        fits = fitting_scales(low, high, whole=all(value.is_integer() for value in self._stated))
        narrower = any(
            each.high - each.low < own.high - own.low for each in filter(None, map(parse_scale, fits))
        )
        if off <= _TOLERATED * stated and not (off == 0 and narrower):
            return
        ways = " or ".join(f"--scale {name}" for name in fits) or "--scale LOW..HIGH"
        kind = f"rating {own.low:g} to {own.high:g}" if self._whole else f"number on {own}"
        why = f"{off} of {stated} confidences are no {kind}; they" if off else f"all {stated} confidences"
        ask = f"run from {low:g} to {high:g}: say on which scale, as in {ways}; nothing was kept"
        raise StudyError(f"{self._path}: {why} {ask}")

    def _two_scales(self, stated: int) -> str:
        known = self.declared is not None or self._whole
        if known and stated < _LEAST_STATED:
            return ""
        bare = {value: n - self._signed[value] for value, n in self._stated.items() if 0 < value < 1}
        signed, few = [v for v, n in self._signed.items() if n], [v for v, n in bare.items() if n]
        if known or not signed or not few:
            return two_scales({**self._stated, **bare}, known)
        some = f"some such as {signed[0]:g} have a per cent sign, some such as {few[0]:g} have none"
        return f"{some}: two scales seem to be mixed; write all of them one way"

    def __str__(self) -> str:
        if not (self._stated or self._words):
            return "no column holds a confidence"
        own, scale = self._own, self.declared
        note = f"on {scale}" if scale else f"taken as {'a rating' if self._whole else 'on'} {own}"
        note += f", put on {own}" if scale not in (None, own) else ""
        ends = f" from {min(self._stated):g} to {max(self._stated):g}" if self._stated else ""
        return f"confidence{ends}, {note}, {self.missing} missing, {self._words.total()} not numbers"
