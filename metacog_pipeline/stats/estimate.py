"""One number with its interval, and the reason when there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass

OK = "ok"
COUNT = "count"  # of what was asked or said: nothing was sampled, so there is no interval
NO_ITEMS = "no items"
SINGLE_ITEM = "single item"
ONE_LEVEL = "one confidence level"
ALL_CORRECT = "all correct"
ALL_WRONG = "all wrong"
NO_WEIGHT = "no weight"
PERFECT = "perfect separation"
OFTEN_UNDEFINED = "no value in more than 5 % of the resamples"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measured quantity.

    A ValueError where a number is not finite, an interval has one end only or is upside down, or n is negative: no NaN
    ever leaves this package.
    """

    value: float | None  # in the unit of the measure (a share lies in 0..1), None where there is none
    low: float | None  # ends of the 95 % interval in the same unit, both None where there is none
    high: float | None
    n: int  # items (or rows, see the function) the value rests on
    method: str  # how value and interval were made, for a table's footnote: ``"wilson"``, ``"sem"``, …
    status: str = OK  # or why the value or its interval is missing; ``"count"`` of a number without error
    sem: float | None = None  # standard error of the value

    def __post_init__(self) -> None:
        for name in ("value", "low", "high", "sem"):
            number = getattr(self, name)
            if number is not None:
                if not math.isfinite(number):
                    raise ValueError(f"{name} of an estimate is {number}: use None and a status")
                object.__setattr__(self, name, float(number))  # NumPy scalars become plain floats
        object.__setattr__(self, "n", int(self.n))
        if self.n < 0:
            raise ValueError(f"n of an estimate is {self.n}, below 0")
        if (self.low is None) != (self.high is None):
            raise ValueError("an interval has two ends or none")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"interval is upside down: {self.low} to {self.high}")


def unavailable(n: int, method: str, status: str) -> Estimate:
    """Return an estimate of ``n`` items without a value; ``method`` says how it would have been made, ``status`` why not.

    >>> unavailable(0, "wilson", NO_ITEMS).status
    'no items'
    """
    return Estimate(None, None, None, n, method, status)


def of_numbers(
    value: float, low: float, high: float, sem: float, n: float, method: str, status: str
) -> Estimate:
    """Return the estimate of numbers of which any may be NaN or infinite: without a value or an interval then."""
    if not math.isfinite(value):
        return unavailable(round(n), method, status)
    if not math.isfinite(low):
        return Estimate(value, None, None, round(n), method, status)
    return Estimate(value, low, high, round(n), method, status, sem if math.isfinite(sem) else None)
