"""The keys of ``[training]``, and the presets that fill in what a study leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, field_validator, model_validator

from metacog_pipeline.errors import StudyError
from metacog_pipeline.study.sections import PathText, Section

Share = Annotated[float, Field(ge=0, le=100)]
# Weights have the size of 1: a noise or step beyond these limits changes none of them, or leaves none.
Size = Annotated[float, Field(ge=1e-12, le=1e3, strict=True)]
Count = Annotated[int, Field(ge=0, le=10**9, strict=True)]
_TENTHS = [10.0 * k for k in range(11)]
#: `published`: the paper's settings (Appendix D.1). `small`: what suits the model and the world that are made here.
#: `fictional`: the paper's chain (Section 5.5), which teaches half of a fictional world, evolves, measures and patches.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "published": {},
    "small": {
        "sigma": 0.02, "alpha": 0.02, "batch": 128, "generations": 90, "antithetic": True, "schedule": "cosine",
        "meta": "threshold", "max_tokens": 1, "rows": 512, "checkpoint_every": 30, "evaluate_every": 10,
    },
    "fictional": {"patch_top": [1.0, 2.0, 5.0, *_TENTHS], "patch_bottom": _TENTHS},
}  # fmt: skip
_FICTIONAL_SMALL = {
    "teach": "world",
    "teach_rate": 1e-3,
    "patch_top": [1.0, 5.0, 10.0, 50.0, 100.0],
    "patch_bottom": [50.0, 90.0, 100.0],
}


class TrainingSection(Section):
    """``[training]``: teach a model to know what it knows, by an evolution strategy (needs the extra ``train``).

    ``model`` is the folder of a causal language model in the layout of Hugging Face; without it a small one is
    trained here on a world of invented people. ``questions``, ``held_out`` and ``teach`` are a study's
    ``items/selfknowledge.parquet``, JSON Lines with ``question`` and ``answers``, or ``"sample"``; all relative to
    the study file. ``teach`` is learnt before the evolution, by supervised training; ``measure`` names more question
    sets on which all models are measured. ``preset`` is ``"published"``, ``"small"`` or ``"fictional"``; what a study
    says itself comes first. The seed is the study's.

    ``alpha`` is 5e-4, for the reward ``meta`` 2e-4, where nothing is said. ``sft_steps`` and ``grpo_steps`` train
    baselines beside the evolution (30,000 steps at most as published; GRPO needs the package trl). ``patch_top`` and
    ``patch_bottom`` are percentages of the changed weights that are put into the base and measured.
    """

    preset: Literal["published", "small", "fictional"] = "published"
    model: PathText | None = None
    questions: str = Field("sample", min_length=1)
    held_out: str | None = Field(None, min_length=1)
    held_out_share: float = Field(0.3, gt=0, lt=1, strict=True)
    measure: tuple[str, ...] = ()
    limit: int | None = Field(None, ge=2, strict=True)

    reward: str = "joint"
    sigma: Size = 1e-3
    alpha: Size | None = None
    population: int = Field(32, ge=2, le=10**6, strict=True)
    batch: int = Field(256, ge=1, le=10**9, strict=True)
    generations: Count = 750
    antithetic: StrictBool = False
    schedule: Literal["constant", "cosine"] = "constant"

    teach: str | None = Field(None, min_length=1)
    teach_epochs: int = Field(10, ge=1, le=10**6, strict=True)
    teach_rate: Size = 5e-5
    sft_steps: Count = 0
    sft_rate: Size = 2e-5
    sft_batch: int = Field(8, ge=1, le=10**6, strict=True)
    grpo_steps: Count = 0
    patch_top: tuple[Share, ...] = ()
    patch_bottom: tuple[Share, ...] = ()

    language: Literal["en", "zh", "ko", "es"] = "en"
    matching: Literal["entities", "inclusion", "normalized_inclusion", "exact_match", "token_boundary"] = (
        "inclusion"
    )
    yes_no: Literal["default", "reference"] = "default"
    meta: Literal["text", "threshold"] = "text"
    meta_chat: StrictBool = True
    max_tokens: int = Field(32, ge=1, le=10**6, strict=True)
    rows: int = Field(64, ge=1, le=10**6, strict=True)

    device: str = Field("cpu", pattern=r"^(?:cpu|cuda(?::[0-9]{1,2})?)$", description="cpu, cuda or cuda:1")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    threads: int = Field(1, ge=1, le=4096, strict=True)
    trainee: Literal["torch", "vllm"] = "torch"
    engine: Literal["process", "ray"] = "process"
    workers: int = Field(1, ge=1, le=1024, strict=True)
    ray_address: str | None = None
    gpus_per_worker: float = Field(0.0, ge=0, le=1024)
    checkpoint_every: Count = 60
    evaluate_every: Count = 60
    patience: Count = 5

    @field_validator("reward")
    @classmethod
    def _known(cls, reward: str) -> str:
        # late: it needs SciPy
        from metacog_pipeline.benchmarks.selfknowledge.training.rewards import (
            reward_named,
        )

        try:
            reward_named(reward)
        except StudyError as error:
            raise ValueError(str(error)) from None
        return reward

    @model_validator(mode="before")
    @classmethod
    def _filled_in(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        preset = given.get("preset")
        usual = dict(PRESETS.get(preset, {})) if isinstance(preset, str) else {}
        if "model" not in given:
            extra = _FICTIONAL_SMALL if preset == "fictional" else {}
            usual = {**usual, **PRESETS["small"], **extra}
        return {**usual, **given}

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.engine == "process" and self.workers > 1:
            raise ValueError(f'workers = {self.workers}: several need engine = "ray"')
        if self.model is None and (own := {"questions", "held_out", "measure"} & self.model_fields_set):
            raise ValueError(f"{min(own)}: the small model knows its own world only; name a model")
        if self.preset == "fictional" and self.teach is None:
            raise ValueError('preset = "fictional" needs teach: the questions of the half that is taught')
        return self
