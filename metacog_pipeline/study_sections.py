"""The tables of a study file below ``[study]``: one model per benchmark, and what is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Dataset = Literal["published", "corrected", "sample", "custom"]


class Section(BaseModel):
    """A table of the study file: nothing unknown in it, and nothing changed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _each_once(value: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(value)) != len(value):
        raise ValueError("a name is listed twice")
    return value


class MetaMedQASection(Section):
    """``[benchmarks.metamedqa]``: which questions, how many, under which system messages.

    ``folder`` holds ``parent.jsonl``, ``edits.jsonl`` and ``fictional.jsonl`` for ``dataset = "custom"``;
    ``wording`` is a TOML file with the exact texts of another study. Both are relative to the study file.
    """

    enabled: bool = True
    limit: int | None = Field(default=None, ge=1, strict=True)
    dataset: Dataset = "published"
    order: Literal["default", "published", "parent"] = "default"
    conditions: Annotated[tuple[str, ...], Field(min_length=1)] = ("baseline",)
    wording: Path | None = None
    folder: Path | None = None
    allow_incomplete: bool = False

    @field_validator("conditions")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _each_once(value)

    @model_validator(mode="after")
    def _custom_needs_folder(self) -> MetaMedQASection:
        if (self.dataset == "custom") != (self.folder is not None):
            raise ValueError('dataset = "custom" and folder = "…" go together: give both or neither')
        return self


class SignalDetectionSection(Section):
    """``[benchmarks.signaldetection]``: which tasks, how many items of each, under which instructions.

    ``trials`` items per task are drawn by the study's seed, the same for every model, run and condition; a larger
    number only adds. ``dataset = "published"`` draws them from the fetched sources, ``"sample"`` from the sentences
    that come with the package. ``wording`` is a TOML file with the exact texts of another study, relative to this one.
    """

    enabled: bool = False
    dataset: Literal["published", "sample"] = "published"
    tasks: Annotated[tuple[Literal["A", "B", "C"], ...], Field(min_length=1)] = ("A", "B", "C")
    trials: int = Field(default=100, ge=2, le=100_000, strict=True)
    conditions: Annotated[
        tuple[Literal["confidence", "risk_none", "risk_s1", "risk_s2"], ...], Field(min_length=1)
    ] = ("confidence", "risk_none", "risk_s1", "risk_s2")
    wording: Path | None = None
    allow_incomplete: bool = False

    @field_validator("tasks", "conditions")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _each_once(value)


class MedleyGeneratorSection(Section):
    """``[benchmarks.medley.generator]``: who makes new instances, from which seeds.

    ``seeds`` is a TOML or JSON file, relative to the study file. ``designers`` and ``pool`` name rows of ``[[analysts]]``,
    ``judges`` three rows of ``[[judges]]``: the first write the cases, the second judge them, the third say whether what
    most of the pool thinks is right. With ``allow_incomplete`` the instances are made although somebody has not
    answered everything.
    """

    seeds: Path
    designers: Annotated[tuple[str, ...], Field(min_length=1)]
    pool: Annotated[tuple[str, ...], Field(min_length=8)]
    judges: Annotated[tuple[str, ...], Field(min_length=3, max_length=3)]
    allow_incomplete: bool = False

    @field_validator("designers", "pool", "judges")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _each_once(value)


class MedleySection(Section):
    """``[benchmarks.medley]``: which instances, under which conditions, scored how and judged by whom.

    ``limit`` draws that many instances by the study's seed. ``variant`` decides between the published paper and its
    authors' package where the two differ. ``judges`` names rows of ``[[judges]]``; without any, the part of the
    score that needs a judge is missing, and shown as missing. ``anonymise`` shows the analysts as Analyst A to H;
    ``order = "seeded"`` shuffles them by instance, alike for every model. ``folder`` holds the files of a data set
    of one's own, ``wording`` is a TOML file with the exact texts of another study, ``judge_wording`` one with what its
    judges were told; all relative to the study file. With ``generator`` the instances are made anew and
    ``dataset = "custom"`` means these.
    """

    enabled: bool = False
    dataset: Literal["published", "sample", "custom"] = "published"
    limit: int | None = Field(default=None, ge=1, strict=True)
    conditions: Annotated[tuple[Literal["normal", "adversarial", "stripped"], ...], Field(min_length=1)] = (
        "normal",
    )
    variant: Literal["reference", "paper"] = "reference"
    judges: tuple[str, ...] = ()
    anonymise: bool = True
    order: Literal["file", "seeded"] = "file"
    wording: Path | None = None
    judge_wording: Path | None = None
    folder: Path | None = None
    allow_incomplete: bool = False
    generator: MedleyGeneratorSection | None = None

    @field_validator("conditions", "judges")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _each_once(value)

    @model_validator(mode="after")
    def _custom_needs_folder(self) -> MedleySection:
        if self.generator is not None:
            if self.dataset != "custom" or self.folder is not None:
                raise ValueError(
                    'generator makes a data set of its own: set dataset = "custom" and leave folder out, or remove '
                    "[benchmarks.medley.generator]"
                )
        elif (self.dataset == "custom") != (self.folder is not None):
            raise ValueError('dataset = "custom" and folder = "…" go together: give both or neither')
        return self


class MetaCogBenchSection(Section):
    """``[benchmarks.metacogbench]``: which set of tasks, under which conditions.

    ``conditions``: ``free`` asks all tiers; ``json`` and ``json_notes`` ask the ecological-validity tasks again in another
    format, ``two_turn`` the predictions before the question is seen. ``limit`` draws that many tasks of every tier by
    the study's seed. ``wording`` is a TOML file with the exact texts of another study, ``lexicon`` a file or folder with
    another list of cues; both relative to the study file. ``judges`` names rows of ``[[judges]]`` that give their own
    verdict on every reply, ``"self"`` the model that gave it; no score rests on them. Published results are means of
    three runs at temperature 0.7.
    """

    enabled: bool = False
    set: Literal["metacog147", "metacog41"] = "metacog147"
    conditions: Annotated[
        tuple[Literal["free", "json", "json_notes", "two_turn"], ...], Field(min_length=1)
    ] = ("free",)
    limit: int | None = Field(default=None, ge=1, strict=True)
    wording: Path | None = None
    lexicon: Path | None = None
    judges: tuple[str, ...] = ()
    allow_incomplete: bool = False

    @field_validator("conditions", "judges")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _each_once(value)


class SelfKnowledgeSection(Section):
    """``[benchmarks.selfknowledge]``: which questions, in which languages, read by which rules.

    ``limit`` draws that many questions by the study's seed; a larger number only adds. ``split`` is the part of the
    data set, where its source has parts; None takes the one that published results are about. ``languages`` are asked
    as far as the data set has them; ``idk`` asks again, in English, with leave to abstain. ``matching`` says when an
    answer is right and ``yes_no`` what counts as a yes: both are applied to kept answers, so changing them asks nothing
    again. ``decoding = "greedy"`` sends the temperature of the model's row, ``"checkpoint"`` none, so that whatever
    ships with the model applies. ``folder`` holds published files that were got elsewhere, ``wording`` is a TOML file
    with the exact texts of another study; both relative to the study file.
    """

    enabled: bool = False
    dataset: Literal[
        "sample",
        "trivia_qa",
        "freebase_qa",
        "nq_open",
        "web_questions",
        "mkqa",
        "fictional_qa",
        "efficientqa",
        "trivia_sample",
        "popqa",
        "selfaware",
    ] = "sample"
    split: Literal["train", "validation", "test", "all"] | None = None
    languages: Annotated[tuple[Literal["en", "zh", "ko", "es"], ...], Field(min_length=1)] = ("en",)
    idk: bool = Field(default=True, strict=True)
    limit: int | None = Field(default=None, ge=1, strict=True)
    matching: Literal["inclusion", "normalized_inclusion", "exact_match", "token_boundary"] = "inclusion"
    yes_no: Literal["default", "reference", "strict"] = "default"
    decoding: Literal["greedy", "checkpoint"] = "greedy"
    wording: Path | None = None
    folder: Path | None = None
    allow_incomplete: bool = False

    @field_validator("languages")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _each_once(value)

    @model_validator(mode="after")
    def _languages_there_are(self) -> SelfKnowledgeSection:
        if self.dataset == "sample" and self.folder is not None:
            raise ValueError(
                'dataset = "sample" comes with the package: leave folder out, or name a published data set'
            )
        if self.dataset not in ("sample", "mkqa") and self.languages != ("en",):
            raise ValueError(
                f'dataset = "{self.dataset}" has English questions only: set languages = ["en"], or take "sample" or "mkqa"'
            )
        if "idk" in self.model_fields_set and self.idk and "en" not in self.languages:
            raise ValueError('idk is worded in English only: add "en" to languages or set idk = false')
        return self

    @property
    def asks_idk(self) -> bool:
        """Whether the question with leave to abstain is asked: it stands beside the English ones."""
        return self.idk and "en" in self.languages


class TrainingSection(Section):
    """``[training]``: teach a model to know what it knows, by an evolution strategy (needs the extra ``train``).

    Without ``model`` the toy world of invented people is trained, a demonstration of a minute. ``model`` is the folder of a
    causal language model in the layout of Hugging Face, ``questions`` and ``held_out`` files of questions (a study's
    ``items/selfknowledge.parquet`` or JSON Lines), or ``"sample"``; all relative to the study file. Train on other
    questions than the study measures. What is left out of ``sigma`` to ``schedule`` is as published, or for the toy as
    fits its size; the seed is the study's.
    """

    model: Path | None = None
    questions: str = Field(default="sample", min_length=1)
    held_out: str | None = Field(default=None, min_length=1)
    held_out_share: float = Field(default=0.3, gt=0, lt=1)
    reward: str = Field(default="joint", min_length=1)
    sigma: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    alpha: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    population: int | None = Field(default=None, ge=2, strict=True)
    batch: int | None = Field(default=None, ge=1, strict=True)
    generations: int | None = Field(default=None, ge=0, strict=True)
    antithetic: bool | None = None
    shaping: Literal["zscore", "ranks"] | None = None
    schedule: Literal["constant", "linear", "cosine"] | None = None
    language: Literal["en", "zh", "ko", "es"] = "en"
    matching: Literal["inclusion", "normalized_inclusion", "exact_match", "token_boundary"] = "inclusion"
    yes_no: Literal["default", "reference", "strict"] = "default"
    meta: Literal["text", "threshold"] = "text"
    meta_chat: bool = True
    max_tokens: int = Field(default=32, ge=1, strict=True)
    rows: int = Field(default=64, ge=1, strict=True)
    device: str = Field(default="cpu", pattern=r"^(?:cpu|auto|cuda(?::[0-9]{1,2})?)$")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    threads: int = Field(default=1, ge=1, strict=True)
    workers: int = Field(default=1, ge=1, le=1024, strict=True)
    engine: Literal["process", "ray"] = "process"
    checkpoint_every: int = Field(default=60, ge=0, strict=True)
    evaluate_every: int = Field(default=10, ge=0, strict=True)


class Benchmarks(Section):
    """``[benchmarks.*]``."""

    metamedqa: MetaMedQASection = Field(default_factory=MetaMedQASection)
    signaldetection: SignalDetectionSection = Field(default_factory=SignalDetectionSection)
    medley: MedleySection = Field(default_factory=MedleySection)
    metacogbench: MetaCogBenchSection = Field(default_factory=MetaCogBenchSection)
    selfknowledge: SelfKnowledgeSection = Field(default_factory=SelfKnowledgeSection)

    def enabled(self) -> tuple[str, ...]:
        """Return the names of the benchmarks that are switched on."""
        return tuple(name for name in type(self).model_fields if getattr(self, name).enabled)
