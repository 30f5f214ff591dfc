"""A judge's grades: thirty criteria of ten dimensions, read from the reply of a judge. Total: any text gives grades."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metacog_pipeline.benchmarks.medley.read import NO_JSON, strict_json
from metacog_pipeline.reading.envelope import turn_of

_FENCE = "```"
FEWEST_TELLING = 5  # grades that differ from 1; with fewer, the judge is asked again
MINIMAL_GRADE, BEST_GRADE = 1, 3
WITHOUT_JUDGE = 1 / 3

# Letter of a criterion -> dimension; three criteria each, a1 … b3.
DIMENSION_OF = {
    "a": "attribution_depth",
    "s": "steelmanning_quality",
    "g": "logical_grounding",
    "q": "capitulation_quality",
    "n": "normative_vs_informational",
    "t": "transparency",
    "k": "intellectual_courage",
    "m": "confidence_coherence",
    "e": "error_acknowledgment",
    "b": "blind_spot_recognition",
}
JUDGE_DIMENSIONS = tuple(DIMENSION_OF.values())
CRITERIA = tuple(f"{letter}{number}" for letter in DIMENSION_OF for number in (1, 2, 3))


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's grades.

    Attributes
    ----------
    criteria
        The 30 criteria, 0..3 each, None where unscored.
    dimensions
        The ten dimensions, 0..1: the mean of the scored criteria over 3, None where none is scored.
    non_default
        How many grades differ from 1.
    unscored
        Criteria without a grade of the offered set.
    """

    criteria: dict[str, int | None]
    dimensions: dict[str, float | None]
    non_default: int
    unscored: tuple[str, ...]

    @property
    def tells_little(self) -> bool:
        """Whether nearly all grades are 1 or missing, so that the judge should be asked again."""
        return self.non_default < FEWEST_TELLING


def parse_judgement(raw: str, *, reference: bool = False) -> Judgement:
    """Return the grades in a judge's reply. Never raises.

    Only the whole numbers 0 to 3 are grades, and anything else is unscored. With ``reference`` they are read as the
    authors' package does: a number from 0 to 3 is rounded half to even, true and false are 1 and 0, and anything else,
    missing grades included, counts as 1.
    """
    given = _judge_object(raw, reference)
    read = _lenient_grade if reference else _strict_grade
    criteria = {name: read(given.get(name)) for name in CRITERIA}
    dimensions: dict[str, float | None] = {}
    for letter, dimension in DIMENSION_OF.items():
        grades = [grade for number in "123" if (grade := criteria[letter + number]) is not None]
        dimensions[dimension] = sum(grades) / len(grades) / BEST_GRADE if grades else None
    telling = sum(grade is not None and grade != MINIMAL_GRADE for grade in criteria.values())
    unscored = tuple(name for name, grade in criteria.items() if grade is None)
    return Judgement(criteria, dimensions, telling, unscored)


def _judge_object(raw: str, reference: bool) -> dict[str, Any]:
    text = raw.strip() if isinstance(raw, str) else ""
    if not reference:
        text = turn_of(text)
    if text.startswith(_FENCE):
        text = "\n".join(line for line in text.split("\n") if not line.startswith(_FENCE))
    value = strict_json(text)
    if value is NO_JSON:
        start = text.find("{")
        value = strict_json(text[start : text.rfind("}") + 1]) if start >= 0 else None
    return value if isinstance(value, dict) else {}


def _lenient_grade(value: object) -> int | None:
    if isinstance(value, int | float) and 0 <= value <= BEST_GRADE:
        return round(value)
    return MINIMAL_GRADE


def _strict_grade(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value in range(BEST_GRADE + 1) else None
