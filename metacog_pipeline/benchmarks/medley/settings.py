"""Settings of the study file. Nothing here loads a statistic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, field_validator, model_validator

from metacog_pipeline.errors import suggestion
from metacog_pipeline.study import sections
from metacog_pipeline.study.sections import Stage, setting

if TYPE_CHECKING:
    from metacog_pipeline.study import Study

Arm = Literal["normal", "adversarial", "stripped", "minimal", "nudged", "dose_0", "dose_2", "dose_4"]


class Settings(sections.Settings):
    """``[benchmarks.medley]``: which instances, under which conditions, scored how and by which judges."""

    dataset: Literal["published", "sample", "custom"] = setting(Stage.ITEMS, "published")
    limit: int | None = setting(Stage.ITEMS, None, ge=1, strict=True)  # instances, drawn by the study's seed
    conditions: Annotated[tuple[Arm, ...], Field(min_length=1)] = setting(Stage.ASKING, ("normal",))
    scoring: Literal["reference", "paper"] = setting(Stage.SCORING, "reference")  # the package's, the paper's
    judges: tuple[str, ...] = setting(Stage.JUDGING, ())  # rows of [[judges]]
    folder: sections.PathText | None = setting(Stage.ITEMS, None)  # a set of one's own

    @field_validator("conditions", "judges")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return sections.each_once(value)

    @model_validator(mode="after")
    def _custom_needs_a_source(self) -> Settings:
        if (self.folder is not None) != (self.dataset == "custom"):
            raise ValueError('dataset = "custom" needs folder = "…"; others take none')
        return self

    def check(self, study: Study) -> Iterable[str]:
        """Yield what is wrong: judges must be listed and of a family, as must every model that is judged."""
        if self.wording is not None:
            yield "benchmarks.medley.wording: MEDLEY is asked in its own words only; leave the key out"
        known = {spec.name: spec for spec in study.judges}
        for name in self.judges:
            if name not in known:
                listed = f"{suggestion(name, list(known))}; [[judges]] has: {', '.join(known) or 'none'}"
                yield f'benchmarks.medley.judges: no judge "{name}"{listed}'
        judged = (*(known[name] for name in self.judges if name in known), *study.models)
        for spec in judged if self.judges else ():
            if spec.family is None:
                where = f'{"judges" if spec.name in known else "models"} "{spec.name}": family is missing'
                told = 'no judge may judge its own family: name who made the model, e.g. family = "openai"'
                yield f"{where}; {told}"
