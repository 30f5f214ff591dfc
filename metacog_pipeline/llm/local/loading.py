"""Open the model of a folder: tokenizer, weights, device."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import ProviderError, one_line
from metacog_pipeline.llm.local.weights import weights_digest
from metacog_pipeline.llm.spec import ModelSpec

TRUSTED: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to be asked."""

    # what it is called in transcripts: its folder and the start of its digest
    reported: str
    model: Any
    tokenizer: Any
    device: str
    stop_ids: tuple[int, ...]
    # the most tokens prompt and answer may take; None: not stated
    context: int | None
    # the arguments its forward pass knows
    takes: frozenset[str]


def load(spec: ModelSpec) -> Loaded:
    """Return the model of ``spec``; the one opened last is kept. No code of the folder is run."""
    digest = weights_digest(spec.model)
    if digest is None:
        raise ProviderError(
            f"model {spec.name}: {spec.model}: no model here (config.json is missing); give the folder of a model in "
            "the layout of Hugging Face"
        )
    return _load(spec.name, spec.model, digest, spec.device, spec.dtype)


@functools.lru_cache(maxsize=1)
def _load(name: str, folder: str, digest: str, device: str, dtype: str) -> Loaded:
    opened = open_folder(name, folder, device, dtype)
    return replace(opened, reported=f"local/{Path(folder).name}@{digest[:12]}")


def open_folder(name: str, folder: str, device: str, dtype: str) -> Loaded:
    """Open the model of a folder for a caller that changes it, without the cache; errors as of :func:`load`."""
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging
    except ImportError as error:
        raise ProviderError(
            f'model {name}: provider = "transformers" needs the extra `train`: install metacog-pipeline[train] '
            f"({one_line(str(error))})"
        ) from None
    library: Any = logging
    library.set_verbosity_error()
    library.disable_progress_bar()  # the run has its own
    gpu = "cuda" if torch.cuda.is_available() else "cpu"
    where = gpu if device == "auto" else device
    with _opening(name, folder, where):
        tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left", **TRUSTED)
        precision = "auto" if dtype == "auto" else getattr(torch, dtype)
        model: Any = AutoModelForCausalLM.from_pretrained(
            folder, use_safetensors=True, dtype=precision, **TRUSTED
        )
        model = model.to(where).eval()
    return _loaded(folder, model, tokenizer, where)


def open_shape(name: str, folder: str) -> Loaded:
    """Open the model of a folder without its weights: names and shapes of its tensors, and the tokenizer."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    with _opening(name, folder, "cpu"):
        config = AutoConfig.from_pretrained(folder, **TRUSTED)
        tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left", **TRUSTED)
        with torch.device("meta"):
            factory: Any = AutoModelForCausalLM
            model: Any = factory.from_config(config, dtype=config.dtype or torch.float32)
        if (Path(folder) / "generation_config.json").is_file():
            model.generation_config = GenerationConfig.from_pretrained(folder, local_files_only=True)
    return _loaded(folder, model, tokenizer, "cpu")


@contextlib.contextmanager
def _opening(name: str, folder: str, device: str) -> Iterator[None]:
    """Turn any error of the libraries about a folder into one line."""
    try:
        yield
    except Exception as error:
        said = f"{type(error).__name__}: {one_line(str(error))[:300]}"
        raise ProviderError(
            f"model {name}: {Path(folder).name}: cannot be opened on {device}: {said}"
        ) from None


def _loaded(folder: str, model: Any, tokenizer: Any, device: str) -> Loaded:
    end = getattr(model.generation_config, "eos_token_id", None)
    ends = [*(end if isinstance(end, list | tuple) else [end]), tokenizer.eos_token_id]
    stop_ids = tuple(sorted({int(each) for each in ends if each is not None}))
    most = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    context = int(most) if isinstance(most, int) and most > 0 else None
    takes = frozenset(inspect.signature(model.forward).parameters)
    return Loaded(f"local/{Path(folder).name}", model, tokenizer, device, stop_ids, context, takes)
