"""The keys of ``[training]``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from metacog_pipeline.study.sections import PathText, Section


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
