"""A plot as SVG text: marks, lines, text and a legend between two axes, in points of print.

Text stays text and has the page's colour, so a figure is small, can be searched, and can be read on light and dark paper.
Everything is placed by the lengths of its words; nothing is measured twice. What is not a finite number is not drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from metacog_pipeline.report.escapes import escaped

INK = "currentColor"
WIDTH = 388.8  # 5.4 inches
#: Dashes of a line: none, long, short; those of a line of reference and of a zero.
DASHES = ("", "7.5 3", "1.5 2.3")
REFERENCE, ZERO = "4 3", "0.8 2.4"
# of letters; a letter is about 0.6 as wide, one of a wide script as wide as high
_SIZE = 10.0
# the first character of a script as wide as it is high
_WIDE_SCRIPTS = 0x1100
_MOST_TICKS = 7
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_SHAPES = {
    "s": "-1,-1 1,-1 1,1 -1,1",
    "^": "0,-1.1 1,0.9 -1,0.9",
    "v": "0,1.1 1,-0.9 -1,-0.9",
    "D": "0,-1.3 1.3,0 0,1.3 -1.3,0",
    "P": "-.35,-1 .35,-1 .35,-.35 1,-.35 1,.35 .35,.35 .35,1 -.35,1 -.35,.35 -1,.35 -1,-.35 -.35,-.35",
    "X": "-1,-.5 -.5,-1 0,-.5 .5,-1 1,-.5 .5,0 1,.5 .5,1 0,.5 -.5,1 -1,.5 -.5,0",
    "*": "0,-1.2 .3,-.4 1.1,-.4 .45,.1 .7,.95 0,.45 -.7,.95 -.45,.1 -1.1,-.4 -.3,-.4",
}
Scale = Callable[[float], float]
Made = Callable[[Scale, Scale], str]


@dataclass(slots=True)
class Axis:
    """One axis: its name, ends and ticks, those of the values on it unless given."""

    label: str = ""
    low: float | None = None
    high: float | None = None
    ticks: Sequence[tuple[float, str]] | None = None
    margin: float = 0.05
    # neither a line nor marks at the ticks
    bare: bool = False
    size: float = _SIZE
    seen: list[float] = field(default_factory=list)

    def ends(self) -> tuple[float, float]:
        """Return the values at the two ends."""
        seen = self.seen or [0.0, 1.0]
        least, most = min(seen), max(seen)
        if least == most:
            least, most = least - 0.5, most + 0.5
        room = self.margin * (most - least)
        low = least - room if self.low is None else self.low
        high = most + room if self.high is None else self.high
        return (low, high) if low != high else (low - 0.5, high + 0.5)

    def see(self, value: float) -> bool:
        """Make room for a value; return whether it can be drawn."""
        if there := math.isfinite(value):
            self.seen.append(value)
        return there

    def marked(self) -> Sequence[tuple[float, str]]:
        """Return the ticks with their words."""
        if self.ticks is not None:
            return self.ticks
        low, high = sorted(self.ends())
        step = _step(high - low)
        digits = max(0, -math.floor(math.log10(step) + 1e-9)) + (
            f"{step:e}"[2] == "5" and f"{step:e}"[0] == "2"
        )
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        return [(n * step, f"{n * step:.{digits}f}".replace("-", "−")) for n in range(first, last + 1)]


def _step(width: float) -> float:
    decade = 10.0 ** math.floor(math.log10(width / _MOST_TICKS))
    return next(each * decade for each in _STEPS if width <= _MOST_TICKS * each * decade * (1 + 1e-9))


class Plot:
    """What is drawn between an axis ``x`` and an axis ``y``, ``height`` inches high with all around it."""

    def __init__(self, height: float, *, square: bool = False) -> None:
        self.x, self.y = Axis(), Axis()
        self._height, self._square = 72 * height, square
        self._made: list[Made] = []
        self._legend: list[tuple[str, str, str, bool]] = []

    def line(
        self, points: Iterable[tuple[float, float]], colour: str = INK, width: float = 1.0, dash: str = ""
    ) -> None:
        """Draw a line through points."""
        kept = [each for each in points if self._see(*each)]
        if len(kept) > 1:
            self._made.append(lambda x, y: _path(((x(a), y(b)) for a, b in kept), colour, width, dash))

    def zero(self, *, of_x: bool) -> None:
        """Draw a dotted line across the plot where one value is 0."""
        self._see(0.0, math.nan) if of_x else self._see(math.nan, 0.0)

        def made(x: Scale, y: Scale) -> str:
            ends = (
                [(x(0.0), y(b)) for b in self.y.ends()] if of_x else [(x(a), y(0.0)) for a in self.x.ends()]
            )
            return _path(ends, INK, 0.8, ZERO)

        self._made.append(made)

    def mark(self, a: float, b: float, shape: str, colour: str, size: float, *, hollow: bool = False) -> None:
        """Draw a mark of ``size`` points."""
        if self._see(a, b):
            self._made.append(lambda x, y: _mark(x(a), y(b), shape, colour, size / 2, hollow=hollow))

    def box(self, first: tuple[float, float], last: tuple[float, float], colour: str, alpha: float) -> None:
        """Fill a rectangle between two corners."""
        if self._see(*first) and self._see(*last):

            def made(x: Scale, y: Scale) -> str:
                across, up = sorted((x(first[0]), x(last[0]))), sorted((y(first[1]), y(last[1])))
                size = f'width="{across[1] - across[0]:.2f}" height="{up[1] - up[0]:.2f}"'
                return f'<rect x="{across[0]:.2f}" y="{up[0]:.2f}" {size} fill="{colour}" fill-opacity="{alpha:.3f}"/>'

            self._made.append(made)

    def words(
        self,
        a: float,
        b: float,
        text: str,
        size: float,
        *,
        moved: tuple[float, float] = (0, 0),
        centred: bool = False,
    ) -> None:
        """Write next to a point: from it ``moved`` right and up by points of print, or centred on it."""
        if self._see(a, b):
            wide = 0.0 if centred else _wide(text, size)
            down = -0.35 * size if centred else moved[1]
            anchor = "middle" if centred else "start"
            self._made.append(
                lambda x, y: _text(min(x(a) + moved[0], WIDTH - wide), y(b) - down, text, size, anchor)
            )

    def entry(self, shape: str, colour: str, name: str, *, hollow: bool = False) -> None:
        """Add an entry to the legend; ``-`` is a line of reference."""
        self._legend.append((shape, colour, name, hollow))

    def _see(self, a: float, b: float) -> bool:
        """Make room for a point; return whether it can be drawn."""
        # both make room
        return self.x.see(a) & self.y.see(b)

    def svg(self, name: str) -> str:
        """Return the plot; ``name`` says what it shows."""
        rows = -(-len(self._legend) // 2)
        words = max((_wide(text, self.y.size) for _, text in self.y.marked()), default=0.0)
        left = min(10 + words + (16 if self.y.label else 0), 0.6 * WIDTH)
        below = min((36 if self.x.label else 24) + (15 * rows + 6 if rows else 0), 0.7 * self._height)
        right, top, bottom = WIDTH - 12.0, 6.0, self._height - below
        if self._square:
            side = min(right - left, bottom - top)
            left, top = (left + right - side) / 2, (top + bottom - side) / 2
            right, bottom = left + side, top + side
        x, y = _scale(self.x, left, right), _scale(self.y, bottom, top)
        parts = [*self._axes(x, y, (left, right, top, bottom), words), *(made(x, y) for made in self._made)]
        if rows:
            parts += self._entries(rows)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {self._height:g}" role="img" '
            f'aria-label="{escaped(name)}"><g font-family="sans-serif" fill="{INK}">{"".join(parts)}</g></svg>'
        )

    def _axes(
        self, x: Scale, y: Scale, box: tuple[float, float, float, float], words: float
    ) -> Iterable[str]:
        left, right, top, bottom = box
        if not self.x.bare:
            yield _path([(left, top), (left, bottom), (right, bottom)], INK, 0.8)
        size = self.x.size
        for value, text in self.x.marked():
            if not self.x.bare:
                yield _path([(x(value), bottom), (x(value), bottom + 3.5)], INK, 0.8)
            yield _text(x(value), bottom + 5 + size, text, size, "middle")
        for value, text in self.y.marked():
            if not self.y.bare:
                yield _path([(left - 3.5, y(value)), (left, y(value))], INK, 0.8)
            yield _text(left - 6, y(value) + 0.35 * self.y.size, text, self.y.size, "end")
        if self.x.label:
            yield _text((left + right) / 2, bottom + 30, self.x.label, 11, "middle")
        if self.y.label:
            turned = f"translate({max(left - words - 12, 12):.2f} {(top + bottom) / 2:.2f}) rotate(-90)"
            said = escaped(self.y.label)
            yield f'<text transform="{turned}" font-size="11" text-anchor="middle">{said}</text>'

    def _entries(self, rows: int) -> Iterable[str]:
        columns = [self._legend[:rows], self._legend[rows:]]
        wide = [max((_wide(each[2]) for each in own), default=0.0) + 28 for own in columns]
        start = max(2.0, (WIDTH - wide[0] - (wide[1] if columns[1] else 0)) / 2)
        for column, own in enumerate(columns):
            at = start + column * wide[0]
            for row, (shape, colour, text, hollow) in enumerate(own):
                level = self._height - 15 * (rows - row) + 8
                if shape == "-":
                    yield _path([(at, level), (at + 16, level)], colour, 1.0, REFERENCE)
                else:
                    yield _mark(at + 8, level, shape, colour, 3.5, hollow=hollow)
                yield _text(at + 20, level + 3.5, text, _SIZE)


def _scale(axis: Axis, start: float, end: float) -> Scale:
    low, high = axis.ends()
    per = (end - start) / (high - low)
    return lambda value: start + (value - low) * per


def _wide(text: str, size: float = _SIZE) -> float:
    return size * sum(0.6 if ord(each) < _WIDE_SCRIPTS else 1.0 for each in text)


def _path(points: Iterable[tuple[float, float]], colour: str, width: float, dash: str = "") -> str:
    listed = " ".join(f"{a:.2f},{b:.2f}" for a, b in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{listed}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashed}/>'


def _mark(x: float, y: float, shape: str, colour: str, radius: float, *, hollow: bool = False) -> str:
    fill = f'fill="{"none" if hollow else colour}" stroke="{colour}"'
    if shape == "o":
        return f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{radius:g}" {fill}/>'
    corners = (each.split(",") for each in _SHAPES[shape].split())
    placed = " ".join(f"{x + radius * float(a):.2f},{y + radius * float(b):.2f}" for a, b in corners)
    return f'<polygon points="{placed}" {fill}/>'


def _text(x: float, y: float, text: str, size: float, anchor: str = "start") -> str:
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.2f}" y="{y:.2f}" font-size="{size:g}"{where}>{escaped(text)}</text>'
