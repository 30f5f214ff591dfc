"""The scale of a confidence column: declared, or the benchmark's own where no other fits; never guessed."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.interchange import columns as named
from metacog_pipeline.interchange.import_cells import no_comma, rated
from metacog_pipeline.interchange.import_rules import RowRules
from metacog_pipeline.reading.envelope import plain

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

    def __init__(self, path: Path, rules: RowRules, declared: named.Scale | None) -> None:
        self._path, self._rules, self.declared = path, rules, declared
        self._stated: Counter[float] = Counter()
        self._with_scale: Counter[float] = Counter()  # those of them whose cell says it, as 85% does
        self._words: Counter[str] = Counter()
        self.missing = 0

    def take(self, value: Any, row: int, count: int = 1) -> str:
        """Return a confidence, that of ``count`` rows, as a reply would state it; raise `RowError` for one off scale."""
        value, says_scale = self._said(_plainly(value))
        if type(value) is not int:
            no_comma(value, f"{self._path} row {row}: confidence")
        number = named.number(value)
        if number is None and count:
            self._words[one_line(str(value).strip(), 20)] += count
        elif number is not None and count:
            self._stated[number] += count
            self._with_scale[number] += count * says_scale
        return rated(value, self.declared, self._rules.scale, self._rules.whole_ratings)

    def _said(self, value: Any) -> tuple[Any, bool]:
        """Return the number of a cell such as ``85% confident`` or ``Confidence: 8/10``, and whether it says its scale.

        One that does is put on that of the column, in percent where none is declared; where the two are not the same, and
        where ratings are asked for (4/5 is on 0 to 5 or on 1 to 5), it stays as it is. Others stay as they are, too.
        """
        if not isinstance(value, str) or (found := _SAID.fullmatch(value.strip()[:80])) is None:
            return value, False
        number, most = found["number"], 100 if found["percent"] else int(found["of"] or 0)
        if named.number(value) is not None or self._rules.whole_ratings:
            return value, most > 0
        wanted = self.declared or self._rules.scale
        if not most or wanted == named.Scale(0, most):
            return number, most > 0
        same = self.declared is None and wanted == named.Scale(0, 100)
        return f"{float(number) * 100 / most:.6g}" if same else value, True

    def _two_scales(self, stated: int) -> str:
        """Say that the confidences are on two scales; '' where nothing speaks for it."""
        known = self.declared is not None or self._rules.whole_ratings
        if known and stated < _LEAST_STATED:
            return ""
        bare = {value: n - self._with_scale[value] for value, n in self._stated.items() if 0 < value < 1}
        signed = [value for value, n in self._with_scale.items() if n]
        if not known and signed and (few := [value for value, n in bare.items() if n]):
            return (
                f"some such as {signed[0]:g} have a per cent sign or say out of how many, some such as {few[0]:g} do not: "
                "two scales seem to be mixed; write all of them one way"
            )
        return named.two_scales({**self._stated, **bare}, known)

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
        own = self._rules.scale
        low, high = min(self._stated), max(self._stated)
        # a few shares, or ratings up to 10, are hardly chances of some percent
        low_only = not self._rules.whole_ratings and (
            (high <= 1 and any(value % 1 for value in self._stated))
            or (high <= _HIGHEST_RATING and stated >= _FEW)
        )
        if stated < _LEAST_STATED and not low_only:
            return
        off = sum(count for value, count in self._stated.items() if not self._on(value))
        fits = named.fitting_scales(low, high, whole=all(value.is_integer() for value in self._stated))
        narrower = [text for text in fits if _width(text) < own.high - own.low]
        if off <= _TOLERATED * stated and not (off == 0 and narrower):
            return
        ways = " or ".join(f"--scale {name}" for name in fits)
        kind = f"rating {own.low:g} to {own.high:g}" if self._rules.whole_ratings else f"number on {own}"
        why = f"{off} of {stated} confidences are no {kind}; they" if off else f"all {stated} confidences"
        raise StudyError(
            f"{self._path}: {why} run from {low:g} to {high:g}: say on which scale, as in "
            f"{ways or '--scale LOW..HIGH'}; nothing was kept"
        )

    def _on(self, value: float) -> bool:
        own = self._rules.scale
        return own.low <= value <= own.high and (not self._rules.whole_ratings or value.is_integer())

    def __str__(self) -> str:
        own, scale = self._rules.scale, self.declared
        told = f"on {scale}" if scale is not None else f"taken as a rating {own}"
        if not self._rules.whole_ratings and scale is None:
            told = f"taken as on {own}"
        nearest = f"the nearest of {own.low:g} to {own.high:g}" if self._rules.whole_ratings else str(own)
        told += "" if scale in (None, own) else f", put on {nearest}"
        ends = f" from {min(self._stated):g} to {max(self._stated):g}" if self._stated else ""
        words = ", ".join(repr(word) for word, _ in self._words.most_common(_WORDS_SHOWN))
        hint = f" ({words}: say what words stand for with --map-values)" if words else ""
        return (
            f"confidence{ends}, {told}, {self.missing} missing, {sum(self._words.values())} not numbers{hint}"
        )

    def __bool__(self) -> bool:
        return bool(self._stated or self._words)


def _plainly(value: Any) -> Any:
    """Return a cell in plain characters and without a sign for "about" in front."""
    if not isinstance(value, str) or (value.isascii() and value.isdecimal()):
        return value
    return _ABOUT.sub("", plain(value).strip())


def _width(text: str) -> float:
    scale = named.parse_scale(text)
    assert scale is not None
    return scale.high - scale.low
