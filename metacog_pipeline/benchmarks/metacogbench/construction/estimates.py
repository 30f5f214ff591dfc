"""The easy arithmetic of the 2a situations: one formula per item, fed with the numbers of its stem in their order."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

NUMBER = re.compile(r"\d+(?:\.\d+)?")

ESTIMATES: dict[str, Callable[..., float]] = {
    "nodes": lambda nodes, now, then: nodes * then / now,
    "abtest": lambda needed, daily: needed / daily,
    "churn": lambda start, percent, months: start * (1 - percent / 100) ** months,
    "latency": lambda services, each, promise: services * each,
    "copy": lambda total, trial, minutes, window: total / trial * minutes,
    "bakery": lambda loaves, flour, bakers, wanted: wanted / loaves * flour,
    "dose": lambda ml, per, weight, age: weight / per * ml,
    "lorry": lambda speed, distance, start: distance / speed,
    "solar": lambda cost, yearly, price: cost / (yearly * price),
    "callcentre": lambda calls, minutes: calls * minutes / 60,
    "crop": lambda trial, tonnes, lease, price: tonnes / trial * lease * price,
    "bridge": lambda posted, axles, each: axles * each,
    "schools": lambda first, second: first - second,
    "vaccine": lambda people, sheep, vial: math.ceil(sheep / vial),
    "hotel": lambda rooms, percent, day: rooms / (1 - percent / 100),
    "language": lambda hours, daily, days: hours / (daily * days),
    "bus": lambda line, wait, wanted: 2 * wanted,
    "fund": lambda percent, years, age, sum_, later: sum_ * (1 + percent / 100) ** (later - age),
    "diet": lambda weight, less, per_kg, days: less * days / per_kg,
    "fish": lambda stock, percent: stock * percent / 100,
    "supplier": lambda valves, old, new: valves * (old - new),
    "code": lambda daily, lines: lines / daily,
    "museum": lambda hourly, hours, days: hourly * days,
    "firewood": lambda burnt, months, wanted: burnt / months * wanted,
    "clinic": lambda first, back, second, again: 100 * again / second,
    "tank": lambda people, litres, days: people * litres * days,
    "ebus": lambda stored, per_km, line, distance: stored / per_km,
    "seating": lambda area, each: area / each,
    "tutoring": lambda tutored, passed, percent: 100 * passed / tutored - percent,
    "reservoir": lambda million, days, rate: million * 1e6 / rate / 3600,
}


def estimate(generator: str, stem: str) -> float:
    """Return what ``estimates.NAME`` computes from the numbers of ``stem``.

    ValueError: for an unknown formula, or a stem whose numbers do not fit it.
    """
    name = generator.removeprefix("estimates.")
    numbers = [float(each) for each in NUMBER.findall(stem)]
    try:
        return ESTIMATES[name](*numbers)
    except (KeyError, TypeError):
        raise ValueError(f"{generator}: no formula for the {len(numbers)} numbers of {stem!r}") from None
