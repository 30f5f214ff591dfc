"""A column of confidence: its scale is declared, or the benchmark's own where no other fits; it is never guessed."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange.columns import Scale, has_comma, missing, number, parse_scale
from metacog_pipeline.interchange.import_cells import SHOWN, RowError, shown, whole
from metacog_pipeline.interchange.import_rules import RowRules
from metacog_pipeline.reading.envelope import plain
from metacog_pipeline.stats.confidence_scale import fitting_scales, two_scales

_LEAST_STATED = 10  # confidences from which a scale shows
_FEW, _HIGHEST_RATING = 3, 10
_TOLERATED = 0.1  # of stated confidences that are off the benchmark's scale: more than that is another scale
_WORDS_SHOWN = 3
# "Confidence: 85 %", "8/10", "85% confident": a number with its own scale, or with a label alone.
_SAID = re.compile(
    r"(?:(?:my |stated )?(?:confidence|certainty)(?: level| score)?\s{0,4}(?:[:=]|is)?\s{0,4})?"
    r"(?P<number>\d{1,3}(?:\.\d{1,6})?)\s{0,4}"
    r"(?:(?P<percent>%|percent\b|per cent\b)|(?:/|out of|of)\s{0,4}(?P<of>10{1,2})(?!\d))?"
    r"\s{0,4}(?:confident|certain|sure|confidence|certainty)?\s{0,4}\.?",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"\A[~≈][ ]?(?=\d)")


class Confidence:
    """Puts confidences on the scale that the benchmark asks for, and remembers which there were."""

    def __init__(self, path: Path, rules: RowRules | type[RowRules], declared: Scale | None) -> None:
        self._path, self.declared = path, declared
        self._own: Scale = rules.scale
        self._whole = rules.whole_ratings
        self._stated: Counter[float] = Counter()
        self._with_scale: Counter[float] = Counter()  # those of them whose cell says it, as 85% does
        self._words: Counter[str] = Counter()
        self._known: dict[Any, tuple[float | None, bool, str]] = {}  # most cells come often
        self.missing = 0

    def none_stated(self, value: Any) -> bool:
        """Whether a cell has none: also the -1 by which programs say that none was read, off a scale that has a -1."""
        return missing(value) or ((self.declared or self._own).low >= 0 and number(value) == -1)

    def take(self, value: Any, row: int) -> str:
        """Return a confidence as a reply would state it; raise `RowError` for one off its scale."""
        key = (type(value), value) if isinstance(value, str | int | float) else None
        if key not in self._known or key is None:
            if isinstance(value, str) and not (value.isascii() and value.isdecimal()):
                value = _ABOUT.sub("", plain(value).strip())
            value, says_scale = self._said(value)
            if has_comma(value):
                raise StudyError(
                    f"{self._path} row {row}: confidence {shown(value)} is a number with a comma; write it with a decimal "
                    "point and no separators of thousands; nothing was kept"
                )
            stated = number(value)
            if stated is None:
                self._words[one_line(str(value).strip(), 20)] += 1
            made = stated, says_scale, self._rated(value)
            if stated is not None and key is not None:
                self._known[key] = made
            elif stated is None:
                return made[2]
        else:
            made = self._known[key]
        if made[0] is not None:
            self._stated[made[0]] += 1
            self._with_scale[made[0]] += made[1]
        return made[2]

    def _said(self, value: Any) -> tuple[Any, bool]:
        """Return the number of a cell such as ``85% confident`` or ``Confidence: 8/10``, and whether it says its scale.

        One that does is put on that of the column, in percent where none is declared. Where the two are not the same, and
        where ratings are asked for (4/5 is on 0 to 5 or on 1 to 5), it stays as it is.
        """
        if not isinstance(value, str) or (found := _SAID.fullmatch(value.strip()[:80])) is None:
            return value, False
        stated, most = found["number"], 100 if found["percent"] else int(found["of"] or 0)
        if number(value) is not None or self._whole:
            return value, most > 0
        wanted = self.declared or self._own
        if not most or wanted == Scale(0, most):
            return stated, most > 0
        same = self.declared is None and wanted == Scale(0, 100)
        return f"{float(stated) * 100 / most:.6g}" if same else value, True

    def _rated(self, value: Any) -> str:
        own, stated = self._own, number(value)
        if self.declared is None or self.declared == own:
            exact = whole(value)
            if exact is None and stated is not None and "e" in str(value).casefold():
                if own.share(stated) is None:
                    raise RowError(f"confidence {shown(value)} is outside {own}")
                return _written_out(stated)  # a reader takes 1e308 for 1
            return one_line(str(value).strip(), SHOWN) if exact is None else str(exact)
        if stated is None:
            raise RowError(f"confidence {shown(value)} is no number on {self.declared}")
        if (share := self.declared.share(stated)) is None:
            raise RowError(f"confidence {shown(value)} is outside {self.declared}")
        put = own.low + (own.high - own.low) * share
        return str(math.floor(put + 0.5)) if self._whole else _written_out(put)

    def check(self) -> None:
        """Refuse confidence in words, on two scales, or on no declared one and off the benchmark's or a narrower one's."""
        stated, words = sum(self._stated.values()), sum(self._words.values())
        if words > max(stated, _LEAST_STATED):
            first = ", ".join(repr(word) for word, _ in self._words.most_common(_WORDS_SHOWN))
            raise StudyError(
                f"{self._path}: {words} of {stated + words} confidences are no number, such as {first}; nothing was kept; "
                "say what words stand for, as in --map-values high=5,low=1, or name another column"
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
        on = {v for v in self._stated if own.low <= v <= own.high and (not self._whole or v.is_integer())}
        off = sum(n for value, n in self._stated.items() if value not in on)
        fits = fitting_scales(low, high, whole=all(value.is_integer() for value in self._stated))
        scales = [scale for scale in map(parse_scale, fits) if scale is not None]
        narrower = any(each.high - each.low < own.high - own.low for each in scales)
        if off <= _TOLERATED * stated and not (off == 0 and narrower):
            return
        ways = " or ".join(f"--scale {name}" for name in fits)
        kind = f"rating {own.low:g} to {own.high:g}" if self._whole else f"number on {own}"
        why = f"{off} of {stated} confidences are no {kind}; they" if off else f"all {stated} confidences"
        raise StudyError(
            f"{self._path}: {why} run from {low:g} to {high:g}: say on which scale, as in "
            f"{ways or '--scale LOW..HIGH'}; nothing was kept"
        )

    def _two_scales(self, stated: int) -> str:
        known = self.declared is not None or self._whole
        if known and stated < _LEAST_STATED:
            return ""
        bare = {value: n - self._with_scale[value] for value, n in self._stated.items() if 0 < value < 1}
        signed = [value for value, n in self._with_scale.items() if n]
        if not known and signed and (few := [value for value, n in bare.items() if n]):
            return (
                f"some such as {signed[0]:g} have a per cent sign or say out of how many, some such as {few[0]:g} do not: "
                "two scales seem to be mixed; write all of them one way"
            )
        return two_scales({**self._stated, **bare}, known)

    def __str__(self) -> str:
        own, scale = self._own, self.declared
        told = (
            f"on {scale}"
            if scale is not None
            else f"taken as a rating {own}"
            if self._whole
            else f"taken as on {own}"
        )
        if scale not in (None, own):
            told += (
                f", put on the nearest of {own.low:g} to {own.high:g}" if self._whole else f", put on {own}"
            )
        ends = f" from {min(self._stated):g} to {max(self._stated):g}" if self._stated else ""
        words = ", ".join(repr(word) for word, _ in self._words.most_common(_WORDS_SHOWN))
        hint = f" ({words}: say what words stand for with --map-values)" if words else ""
        return (
            f"confidence{ends}, {told}, {self.missing} missing, {sum(self._words.values())} not numbers{hint}"
        )

    def __bool__(self) -> bool:
        return bool(self._stated or self._words)


def _written_out(value: float) -> str:
    text = f"{value:.6g}"
    return text if "e" not in text else f"{value:.6f}".rstrip("0").rstrip(".")  # a reader takes 1e-05 for 1
