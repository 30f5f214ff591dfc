"""What runs inside vLLM's worker: its own weights, perturbed, restored and updated in place under their usual names.

vLLM keeps the projections of a layer in one tensor and pads the vocabulary; each of the model's tensors is a view of rows
of one of these, so noise, order and digests are those of any other worker. vLLM loads this module before the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from metacog_pipeline.benchmarks.selfknowledge.training.weights import Weights
from metacog_pipeline.errors import StudyError

FUSED = {  # the parts of a fused tensor in their order
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
}
Shapes = Mapping[str, tuple[int, ...]]


def views(held: Mapping[str, Tensor], shapes: Shapes) -> dict[str, Tensor]:
    """Return each named tensor as a view of what vLLM holds.

    Raises StudyError when one is not there: an architecture that is fused in another way.
    """
    found = {}
    for name, shape in shapes.items():
        tensor, begin = held.get(name), 0
        for whole, parts in FUSED.items():
            part = next((each for each in parts if f".{each}." in name), None)
            if tensor is None and part is not None:
                tensor = held.get(name.replace(f".{part}.", f".{whole}."))
                before = parts[: parts.index(part)]
                begin = sum(shapes[name.replace(f".{part}.", f".{each}.")][0] for each in before)
        view = None if tensor is None else tensor[begin : begin + shape[0]] if shape else tensor
        if view is None or tuple(view.shape) != tuple(shape) or not view.is_contiguous():
            there = None if tensor is None else tuple(tensor.shape)
            raise StudyError(
                f"trainee vllm: tensor {name} of shape {shape} is not where it is looked for (found {there}); use "
                "--trainee eager for this model"
            )
        found[name] = view
    return found


class Evolution:
    """Mixed into vLLM's worker class; its methods are called by name."""

    model_runner: Any

    def metacog_open(self, shapes: Shapes, scratch: Path | None, shared: Any) -> None:
        """Take hold of the weights."""
        held = {name: tensor.data for name, tensor in self.model_runner.model.named_parameters()}
        self._evolving = Weights(views(held, shapes), scratch, shared=shared)

    def metacog(self, method: str, *arguments: Any) -> Any:
        """Call a method of the weights."""
        return getattr(self._evolving, method)(*arguments)


def _keep_weights() -> None:
    """On a processor vLLM packs weights into a form of its own and throws them away; here they must stay."""
    try:
        from vllm.model_executor.layers import utils
        from vllm.platforms import current_platform
    except ImportError:
        return  # not in vLLM's process

    def plain(layer: Any, remove_weight: bool) -> None:
        layer.cpu_linear = torch.nn.functional.linear

    if current_platform.is_cpu():
        utils.dispatch_cpu_unquantized_gemm = plain


_keep_weights()
