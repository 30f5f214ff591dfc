"""The table ``[benchmarks.selfknowledge]`` of a study file. No statistics are loaded to read it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictBool, field_validator, model_validator

from metacog_pipeline.benchmarks.selfknowledge.training.settings import TrainingSection
from metacog_pipeline.study import sections
from metacog_pipeline.study.sections import Stage, setting

Language = Literal["en", "zh", "ko", "es"]
Dataset = Literal[
    "sample", "own", "trivia_qa", "freebase_qa", "nq_open", "web_questions", "efficientqa", "mkqa", "fictional_qa",
]  # fmt: skip
Rule = Literal["entities", "inclusion", "normalized_inclusion", "exact_match", "token_boundary"]
YesNoRule = Literal["default", "reference"]
REFERENCE = Path("reference")


class Settings(sections.Settings):
    """Which questions, in which languages, read by which rules."""

    training: ClassVar[type[sections.Section] | None] = TrainingSection

    dataset: Dataset = setting(Stage.ITEMS, "sample")
    # With dataset = "own": JSON Lines with `question` and `answers`, or both by language.
    questions: sections.PathText | None = setting(Stage.ITEMS, None)
    split: Literal["train", "validation", "test", "all"] | None = setting(Stage.ITEMS, None)
    languages: Annotated[tuple[Language, ...], Field(min_length=1)] = setting(Stage.ASKING, ("en",))
    # Asked again with leave to abstain, in all languages or those listed; after "Do you know the answer?" (Appendix C).
    idk: StrictBool | tuple[Language, ...] = setting(Stage.ASKING, True)
    preceded: StrictBool = setting(Stage.ASKING, False)
    limit: int | None = setting(Stage.ITEMS, None, ge=1, strict=True)
    matching: Rule = setting(Stage.PARSING, "entities")
    yes_no: YesNoRule = setting(Stage.PARSING, "default")
    # checkpoint: no temperature is sent, so that what ships with the model applies.
    decoding: Literal["greedy", "checkpoint"] = setting(Stage.ASKING, "greedy")

    @field_validator("languages")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return sections.each_once(value)

    @model_validator(mode="after")
    def _languages_there_are(self) -> Settings:
        if (self.dataset == "own") != (self.questions is not None):
            raise ValueError('dataset = "own" and questions = "FILE" go together: give both or neither')
        if self.dataset not in ("sample", "own", "mkqa") and self.languages != ("en",):
            raise ValueError(f'dataset = "{self.dataset}" has English questions only: set languages = ["en"]')
        if isinstance(self.idk, tuple) and (missing := set(self.idk) - set(self.languages)):
            raise ValueError(f'idk names "{min(missing)}", which languages does not; add it there')
        if self.preceded and "en" not in self.languages:
            raise ValueError('preceded asks in English: add "en" to languages, or leave preceded out')
        return self

    @property
    def idk_languages(self) -> tuple[str, ...]:
        """The languages in which the question with leave to abstain is asked."""
        return self.idk if isinstance(self.idk, tuple) else self.languages if self.idk else ()
