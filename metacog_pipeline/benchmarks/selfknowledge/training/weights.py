"""The tensors of a model under evolution: perturbed, restored and updated exactly, a block at a time.

A float32 master copy is the truth; the model always holds a rounding of it to its own type. To perturb is to write
round(master + sigma · eps), to restore is to write round(master): nothing is ever subtracted, so no digit is lost.
Added and subtracted in place, as in the authors' code, 16-bit weights walk away from where they were. An update sums
the noises of all individuals in float32 and is added to the master once, so steps far below a unit in the last place
of bfloat16 count.

Noise is never kept: it is drawn again from its seed by PyTorch's generator of the model's device. Processor and
graphics card draw different numbers, so a run stays on the kind of device it began on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from metacog_pipeline.benchmarks.selfknowledge.training.es import Individual
from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.files import replacing

# Numbers drawn at once: 1 MiB, which stays in a processor's cache. Part of what a seed means.
BLOCK = 1 << 18
Named = Mapping[str, Tensor]


def trainable(model: nn.Module) -> dict[str, Tensor]:
    """Return the tensors that evolve, by name: trainable, floating point, tied ones once, no buffers."""
    return {
        name: parameter.data
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and parameter.is_floating_point()
    }


class Weights:
    """Perturb, restore and update tensors in place; the master copies lie in the memory of the host."""

    def __init__(self, tensors: Named) -> None:
        for name, tensor in tensors.items():
            if not tensor.is_contiguous():
                raise ValueError(f"tensor {name} is not contiguous")
        self._live = {name: tensor.view(-1) for name, tensor in tensors.items()}
        self.shapes = {name: tensor.shape for name, tensor in tensors.items()}
        self.device = next(iter(tensors.values())).device
        self._held = {name: _single(tensor, copy=True).view(-1) for name, tensor in tensors.items()}
        # Drawn into the same memory each time: memory of its own for every block costs a third of the drawing.
        self._eps, self._total = torch.empty(2, BLOCK, device=self.device)
        self.size = sum(map(len, self._held.values()))
        # Of the master as it is: a run asks for it three times before it begins.
        self._digest: str | None = None

    @torch.no_grad()
    def perturb(self, individual: Individual, sigma: float) -> None:
        """Write the master plus sigma times the individual's noise into the model."""
        generator = self._generator(individual.seed)
        for live, held in self._blocks():
            eps = self._eps[: len(live)].normal_(generator=generator)
            live.copy_(eps.mul_(individual.sign * sigma).add_(held.to(self.device)))

    @torch.no_grad()
    def restore(self) -> None:
        """Write the master into the model."""
        for live, held in self._blocks():
            live.copy_(held)

    @torch.no_grad()
    def update(self, steps: Sequence[tuple[int, float]]) -> float:
        """Add Σ weight · eps(seed), summed in the order given, to the master and the model; return its Euclidean
        norm."""
        drawn = [(self._generator(seed), weight) for seed, weight in steps]
        squares = 0.0
        for live, held in self._blocks():
            total = self._total[: len(live)].zero_()
            for generator, weight in drawn:
                eps = self._eps[: len(live)].normal_(generator=generator)
                # two roundings, never a fused one
                total.add_(eps.mul_(weight))
            squares += float(torch.dot(total, total))
            held.add_(total.cpu())
            live.copy_(held)
        self._digest = None
        return float(squares**0.5)

    @torch.no_grad()
    def load(self, tensors: Named) -> None:
        """Set master and model from tensors by name."""
        for name, shape in self.shapes.items():
            if name not in tensors or tensors[name].shape != shape:
                raise ValueError(f"tensor {name} of shape {tuple(shape)} is missing or of another shape")
            self._held[name].copy_(_single(tensors[name]).view(-1))
        self._digest = None
        self.restore()

    def master(self) -> dict[str, Tensor]:
        """Return the float32 master by name; views, not copies."""
        return {name: held.view(self.shapes[name]) for name, held in self._held.items()}

    def overflowed(self) -> bool:
        """Whether a weight is too large for its own type: float16 ends at 65,504, the others nowhere near a model."""
        return any(t.dtype == torch.float16 and not bool(t.isfinite().all()) for t in self._live.values())

    def digest(self) -> str:
        """Return 32 hex digits of the master: BLAKE2b over names, shapes and, block by block, sums of bit patterns."""
        # Each pattern is multiplied with an odd number of its place; int64 wraps, so the order of summing does not
        # matter and threads cannot show. Hashing all bytes would take six times as long.
        if self._digest is not None:
            return self._digest
        shapes = [(name, tuple(shape)) for name, shape in self.shapes.items()]
        found = hashlib.blake2b(repr(shapes).encode(), digest_size=16)
        odd = torch.arange(1, 2 * BLOCK, 2)
        for _, held in self._blocks():
            summed = int(torch.dot(held.view(torch.int32).long(), odd[: len(held)]))
            found.update(summed.to_bytes(8, "little", signed=True))
        self._digest = found.hexdigest()
        return self._digest

    def _generator(self, seed: int) -> torch.Generator:
        return torch.Generator(self.device).manual_seed(seed)

    def _blocks(self) -> Iterator[tuple[Tensor, Tensor]]:
        for name, live in self._live.items():
            yield from zip(torch.split(live, BLOCK), torch.split(self._held[name], BLOCK), strict=True)


def _single(tensor: Tensor, copy: bool = False) -> Tensor:
    return tensor.detach().to("cpu", torch.float32, copy=copy).contiguous()


def write_tensors(path: Path, tensors: Named) -> None:
    """Write a safetensors file; it is whole or absent."""
    from safetensors.torch import save_file

    with replacing(path) as temporary:
        save_file({name: t.detach().contiguous().cpu() for name, t in tensors.items()}, temporary)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file, which are read from the disk when they are used."""
    from safetensors.torch import load_file

    load: Any = load_file
    try:
        found: dict[str, Tensor] = load(path)
    except Exception as error:  # the library raises its own kind for a torn file
        raise StoreError(f"{path}: no readable safetensors file: {one_line(str(error))}") from None
    return found
