"""Which columns of a table of trials were named, and whether they go together; `fitting.trials` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metacog_pipeline.errors import StudyError
from metacog_pipeline.fitting.trials import Columns
from metacog_pipeline.interchange import columns as named

_COLUMNS = ("stimulus", "correct", "response", "item", "run")
_OF_TRIALS = (*_COLUMNS, "labels", "group", "ratings", "bins", "alternatives", "words", "wide", "scale")


def columns_given(given: Mapping[str, Any]) -> Columns | None:
    """Return where a table of trials has what, by the options of `metacog fit`; None for a table of counts.

    Raises ``StudyError`` with the option that lacks another beside it.
    """
    confidence, keep, correct = given["confidence"], given["keep"], given["correct"]
    stated, right = confidence is not None, ", to tell right from wrong"
    if not stated and keep is None:
        told = ", ".join(f"--{name}" for name in _OF_TRIALS if given[name] not in (None, ()))
        told = told.replace("--words", "--map-values")
        _refuse(bool(told), f"{told}: for trials give --confidence too, or --correct and --keep")
        return None
    unknown = given["stimulus"] is None and correct is None
    _refuse(stated and unknown, f"--confidence: give --stimulus or --correct beside it{right}")
    _refuse(stated and confidence == correct, f"--confidence {confidence}: is the column of --correct")
    _refuse(keep is not None and correct is None, f"--keep: give --correct beside it{right}")
    _refuse(None not in (given["ratings"], given["bins"]), "--ratings and --bins: give one of them")
    _refuse(given["run"] is not None and given["item"] is None, "--run: give --item beside it")
    same = (*_COLUMNS, "keep", "ratings", "bins", "alternatives")
    return Columns(
        confidence,
        **{name: given[name] for name in same},
        groups=given["group"],
        labels=_labels(given["labels"]),
        scale=named.parse_scale(given["scale"]),
        shape=named.Shape(given["wide"], named.parse_words(given["words"])),
    )


def _refuse(holds: bool, message: str) -> None:
    if holds:
        raise StudyError(message)


def _labels(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    first, _, second = (part.strip() for part in text.partition(","))
    if not first or not second or "," in second or first.lower() == second.lower():
        raise StudyError(f"--labels {text}: give two different ones, S1 before S2, as in --labels old,new")
    return first, second
