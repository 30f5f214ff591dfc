"""What the study file says about signal detection."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from metacog_pipeline.study import sections
from metacog_pipeline.study.sections import Stage, setting


class Settings(sections.Settings):
    """``[benchmarks.signaldetection]``: which tasks, how many items of each, under which instructions.

    ``trials`` items per task are drawn by the study's seed, the same for every model, run and condition; a larger
    number only adds. ``dataset = "published"`` draws them from the fetched sources, ``"sample"`` from the sentences
    that come with the package. ``wording`` is a TOML file with the exact texts of another study, relative to this one.
    """

    dataset: Literal["published", "sample"] = setting(Stage.ITEMS, "published")
    tasks: Annotated[tuple[Literal["A", "B", "C"], ...], Field(min_length=1)] = setting(
        Stage.ITEMS, ("A", "B", "C")
    )
    trials: int = setting(Stage.ITEMS, 100, ge=2, le=100_000, strict=True)
    conditions: Annotated[
        tuple[Literal["confidence", "risk_none", "risk_s1", "risk_s2"], ...], Field(min_length=1)
    ] = setting(Stage.ASKING, ("confidence", "risk_none", "risk_s1", "risk_s2"))

    @field_validator("tasks", "conditions")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return sections.each_once(value)
