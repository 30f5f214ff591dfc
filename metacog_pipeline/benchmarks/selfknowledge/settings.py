"""What the study file says about self-knowledge."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictBool, field_validator, model_validator

from metacog_pipeline.benchmarks.selfknowledge.training.settings import TrainingSection
from metacog_pipeline.study import sections
from metacog_pipeline.study.sections import Stage, setting

Language = Literal["en", "zh", "ko", "es"]
Dataset = Literal[
    "sample", "trivia_qa", "freebase_qa", "nq_open", "web_questions", "mkqa", "fictional_qa", "efficientqa",
    "trivia_sample", "popqa", "selfaware",
]  # fmt: skip


class Settings(sections.Settings):
    """``[benchmarks.selfknowledge]``: which questions, in which languages, read by which rules.

    ``limit`` draws that many questions by the study's seed; a larger number only adds. ``split`` is the part of the
    data set, where its source has parts; None takes the one that published results are about. ``languages`` are
    asked as far as the data set has them; ``idk`` asks again with leave to abstain, in each of them or in those it
    lists. ``matching`` says when an answer is right and ``yes_no`` what counts as a yes: both are applied to kept
    answers, so changing them asks nothing again. ``decoding = "greedy"`` sends the temperature of the model's row,
    ``"checkpoint"`` none, so that whatever ships with the model applies. ``folder`` holds published files that were
    got elsewhere, ``wording`` is a TOML file with the exact texts of another study; both relative to the study
    file.
    """

    training: ClassVar[type[sections.Section] | None] = TrainingSection

    dataset: Dataset = setting(Stage.ITEMS, "sample")
    split: Literal["train", "validation", "test", "all"] | None = setting(Stage.ITEMS, None)
    languages: Annotated[tuple[Language, ...], Field(min_length=1)] = setting(Stage.ASKING, ("en",))
    idk: StrictBool | tuple[Language, ...] = setting(Stage.ASKING, True)
    limit: int | None = setting(Stage.ITEMS, None, ge=1, strict=True)
    matching: Literal["entities", "inclusion", "normalized_inclusion", "exact_match", "token_boundary"] = (
        setting(Stage.PARSING, "entities")
    )
    yes_no: Literal["default", "reference", "strict"] = setting(Stage.PARSING, "default")
    decoding: Literal["greedy", "checkpoint"] = setting(Stage.ASKING, "greedy")
    folder: sections.PathText | None = setting(Stage.ITEMS, None)

    @field_validator("languages")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return sections.each_once(value)

    @model_validator(mode="after")
    def _languages_there_are(self) -> Settings:
        if self.dataset == "sample" and self.folder is not None:
            raise ValueError(
                'dataset = "sample" comes with the package: leave folder out, or name a published data set'
            )
        if self.dataset not in ("sample", "mkqa") and self.languages != ("en",):
            raise ValueError(
                f'dataset = "{self.dataset}" has English questions only: set languages = ["en"], or take "sample" or "mkqa"'
            )
        if isinstance(self.idk, tuple) and (missing := set(self.idk) - set(self.languages)):
            raise ValueError(
                f'idk names "{min(missing)}", which languages does not; add it there or leave it out'
            )
        return self

    @property
    def idk_languages(self) -> tuple[str, ...]:
        """The languages in which the question with leave to abstain is asked."""
        return self.idk if isinstance(self.idk, tuple) else self.languages if self.idk else ()
