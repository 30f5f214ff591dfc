"""What the study file says about MetaMedQA."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from metacog_pipeline.study import sections
from metacog_pipeline.study.sections import Stage, setting


class Settings(sections.Settings):
    """``[benchmarks.metamedqa]``: which questions, how many, under which system messages.

    ``folder`` holds ``parent.jsonl``, ``edits.jsonl`` and ``fictional.jsonl`` for ``dataset = "custom"``;
    ``wording`` is a TOML file with the exact texts of another study. Both are relative to the study file.
    """

    limit: int | None = setting(Stage.ASKING, None, ge=1, strict=True)
    dataset: Literal["published", "corrected", "sample", "custom"] = setting(Stage.ITEMS, "published")
    order: Literal["default", "published", "parent"] = setting(Stage.ITEMS, "default")
    conditions: Annotated[tuple[str, ...], Field(min_length=1)] = setting(Stage.ASKING, ("baseline",))
    folder: sections.PathText | None = setting(Stage.ITEMS, None)

    @field_validator("conditions")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return sections.each_once(value)

    @model_validator(mode="after")
    def _custom_needs_folder(self) -> Settings:
        if (self.dataset == "custom") != (self.folder is not None):
            raise ValueError('dataset = "custom" and folder = "…" go together: give both or neither')
        return self
