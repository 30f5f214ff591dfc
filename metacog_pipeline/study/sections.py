"""Tables of a study file: what all of them share, and ``[training]``."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

if TYPE_CHECKING:
    from metacog_pipeline.study.study_file import Study


class Section(BaseModel):
    """A table of the study file: nothing unknown in it, and nothing changed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Stage(enum.StrEnum):
    """The stages of a benchmark, in order. A changed input makes its stage stale and every later one."""

    ITEMS = "items"
    ASKING = "asking"
    PARSING = "parsing"
    JUDGING = "judging"
    SCORING = "scoring"


def _named(value: Any) -> Any:
    if isinstance(value, str) and not (value.strip() and value.isprintable()):
        raise ValueError('give the path of a file or folder, in "quotes"')
    return value


PathText = Annotated[Path, BeforeValidator(_named)]  # "" would be the folder of the study file


def setting(stage: Stage, default: Any = ..., **rules: Any) -> Any:
    """Return a key of a benchmark's table: the first stage that is stale when it changes, its default, pydantic's rules."""
    return Field(default, json_schema_extra={"stage": stage.value}, **rules)


class Settings(Section):
    """``[benchmarks.NAME]``: the keys every benchmark has. A benchmark adds its own in a subclass.

    ``wording`` is a TOML file with the exact texts of another study, relative to the study file. ``allow_incomplete``
    gives numbers for runs in which something was not answered, and labels them.

    A benchmark that ``takes_questions`` reads the files in `Home.imported` as well, rows of `question_rows`: questions of
    logs that no benchmark asks yet.
    """

    takes_questions: ClassVar[bool] = False

    enabled: bool = Field(default=True, strict=True)
    wording: PathText | None = setting(Stage.ASKING, None)
    allow_incomplete: bool = setting(Stage.SCORING, False, strict=True)

    def affecting(self, stage: Stage) -> dict[str, Any]:
        """Return the keys whose change makes ``stage`` the first stale one, with their values as JSON."""
        extras = {name: field.json_schema_extra for name, field in type(self).model_fields.items()}
        own = {name for name, each in extras.items() if isinstance(each, dict) and each.get("stage") == stage}
        return self.model_dump(mode="json", include=own)

    def check(self, study: Study) -> Iterable[str]:
        """Yield what is wrong with these keys in this study: what, the value, what to do, one line each."""
        return ()


def each_once(value: tuple[str, ...]) -> tuple[str, ...]:
    """Return ``value``; a ValueError says that a name stands in it twice."""
    if len(set(value)) != len(value):
        raise ValueError("a name is listed twice")
    return value


def refuse_renamed(given: Any, names: Mapping[str, str]) -> Any:
    """Return a table as given; a ValueError says the new name of a key of an earlier version, from {old: new}."""
    old = next((key for key in names if isinstance(given, dict) and key in given), None)
    if old is not None:
        raise ValueError(f"{old} is now {names[old]}; rename the key")
    return given


class TrainingSection(Section):
    """``[training]``: teach a model to know what it knows, by an evolution strategy (needs the extra ``train``).

    Without ``model`` the toy world of invented people is trained, a demonstration of a minute. ``model`` is the folder of a
    causal language model in the layout of Hugging Face, ``questions`` and ``held_out`` files of questions (a study's
    ``items/selfknowledge.parquet`` or JSON Lines), or ``"sample"``; all relative to the study file. Train on other
    questions than the study measures. What is left out of ``sigma`` to ``schedule`` is as published, or for the toy as
    fits its size; the seed is the study's.
    """

    model: PathText | None = None
    questions: str = Field(default="sample", min_length=1)
    held_out: str | None = Field(default=None, min_length=1)
    held_out_share: float = Field(default=0.3, gt=0, lt=1, strict=True)
    reward: str = Field(
        default="joint",
        pattern=r"^(?:joint|direct|meta|dprime|[^,a-z]+(?:,[^,a-z]+){3})$",
        description='one of "joint", "direct", "meta", "dprime", or four numbers such as "2,1,1,0"',
    )
    sigma: float | None = Field(default=None, gt=0, le=1e3, allow_inf_nan=False, strict=True)
    alpha: float | None = Field(default=None, gt=0, le=1e3, allow_inf_nan=False, strict=True)
    population: int | None = Field(default=None, ge=2, le=10**6, strict=True)
    batch: int | None = Field(default=None, ge=1, le=10**9, strict=True)
    generations: int | None = Field(default=None, ge=0, le=10**9, strict=True)
    antithetic: bool | None = Field(default=None, strict=True)
    shaping: Literal["zscore", "ranks"] | None = None
    schedule: Literal["constant", "linear", "cosine"] | None = None
    language: Literal["en", "zh", "ko", "es"] = "en"
    matching: Literal["inclusion", "normalized_inclusion", "exact_match", "token_boundary"] = "inclusion"
    yes_no: Literal["default", "reference", "strict"] = "default"
    meta: Literal["text", "threshold"] = "text"
    meta_chat: bool = Field(default=True, strict=True)
    max_tokens: int = Field(default=32, ge=1, le=10**6, strict=True)
    rows: int = Field(default=64, ge=1, le=10**6, strict=True)
    device: str = Field(
        default="cpu",
        pattern=r"^(?:cpu|auto|cuda(?::[0-9]{1,2})?)$",
        description='one of "cpu", "auto", "cuda", "cuda:0"',
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    threads: int = Field(default=1, ge=1, le=4096, strict=True)
    devices: str | None = Field(
        default=None,
        pattern=r"^(?:auto|cpu|cuda(?::[0-9]{1,2})?(?:,cuda(?::[0-9]{1,2})?)*)$",
        description='"auto", "cpu", or graphics cards as in "cuda:0,cuda:1"',
    )
    workers: int = Field(default=0, ge=0, le=1024, strict=True)
    patience: int = Field(default=5, ge=0, le=10**9, strict=True)
    engine: Literal["process", "ray"] = "process"
    trainee: Literal["eager", "compiled", "vllm"] = "eager"
    checkpoint_every: int = Field(default=60, ge=0, le=10**9, strict=True)
    evaluate_every: int = Field(default=10, ge=0, le=10**9, strict=True)
