"""The table ``[benchmarks.signaldetection]`` of a study file. No statistics are loaded to read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from metacog_pipeline.study import sections
from metacog_pipeline.study.sections import Stage, setting

if TYPE_CHECKING:
    from metacog_pipeline.study import Study

Task = Literal["A", "B", "C"]
Trials = Annotated[int, Field(ge=2, le=100_000, strict=True)]
#: Trials per task of the paper (Methods, "Number of trials"): d′ is above 3 in task A, so it needs more.
PAPER: Mapping[Task, int] = {"A": 20_000, "B": 10_000, "C": 10_000}


class Settings(sections.Settings):
    """Tasks, trials and instructions.

    ``trials`` are the items of a task, one number for all or one for each; the study's seed draws them, the same for every
    model, run and condition, and a larger number only adds. ``preset = "paper"`` sets those of the paper.
    ``dataset = "published"`` draws from the fetched sources, ``"sample"`` from sentences that come with the package.
    """

    dataset: Literal["published", "sample"] = setting(Stage.ITEMS, "published")
    tasks: Annotated[tuple[Task, ...], Field(min_length=1)] = setting(Stage.ITEMS, ("A", "B", "C"))
    preset: Literal["paper"] | None = setting(Stage.ITEMS, None)
    trials: Trials | dict[Task, Trials] = setting(Stage.ITEMS, 100)
    conditions: Annotated[
        tuple[Literal["confidence", "risk_none", "risk_s1", "risk_s2"], ...], Field(min_length=1)
    ] = setting(Stage.ASKING, ("confidence", "risk_none", "risk_s1", "risk_s2"))

    @field_validator("tasks", "conditions")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return sections.each_once(value)

    @model_validator(mode="before")
    @classmethod
    def _preset(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.get("preset") != "paper":
            return given
        if given.get("trials", PAPER) != PAPER:
            raise ValueError('preset = "paper" sets trials; give one of the two')
        return {**given, "trials": dict(PAPER)}

    def trials_of(self, task: Task) -> int:
        """Return the trials of a task."""
        return self.trials if isinstance(self.trials, int) else self.trials[task]

    def check(self, study: Study) -> Iterable[str]:
        """Yield a line for tasks without a number of trials."""
        lacking = [] if isinstance(self.trials, int) else [t for t in self.tasks if t not in self.trials]
        if lacking:
            yield f"trials names no number for task {', '.join(lacking)}; add it, or give one number for all"
