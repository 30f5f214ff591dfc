"""The tensors of a model under evolution: perturbed, restored and updated exactly, a block at a time.

A float32 master copy of the weights is the truth; what the model holds is always a rounding of it to the model's own
type. To perturb is to write round(master + sigma · eps) into the model, to restore is to write round(master): nothing is
ever subtracted, so no digit can be lost, in float32 and in bfloat16 alike. An update sums the noises of all individuals in
float32 and is added to the master once, so that steps far below a unit in the last place of bfloat16 count.

The master lies in memory, in memory that the workers of a machine share, or in an unnamed scratch file on disk of which
one block at a time is read. With the file, the memory taken is the model and a few blocks. Noise is made again from seeds
whenever it is needed and never kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from metacog_pipeline.benchmarks.selfknowledge.training import noise
from metacog_pipeline.benchmarks.selfknowledge.training.seeds import Individual, hash64
from metacog_pipeline.benchmarks.selfknowledge.training.tensors import write_single
from metacog_pipeline.files import naming

BLOCK = 1 << 18  # elements handled at once: 1 MiB in float32, which stays in a processor's cache
CARD_BLOCK = 1 << 22  # on a graphics card, where starting work costs more than doing it
_BYTES = 4
RANGE, RANGES = 1 << 12, 64  # elements of a range, ranges of a sampled digest
WHOLE = 1 << 22  # models up to this size are digested whole after every update


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run of elements of one tensor and where it lies in its block."""

    name: str
    part: Tensor  # flat view of these elements of the parameter
    start: int
    offset: int
    count: int


@dataclass(frozen=True, slots=True)
class _Block:
    start: int  # of the block among all elements
    count: int
    pieces: tuple[_Piece, ...]


def trainable(model: nn.Module) -> dict[str, Tensor]:
    """Return the tensors that evolve, by name: trainable, floating point, tied ones once, no buffers."""
    return {
        name: parameter.data
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and parameter.is_floating_point()
    }


class Weights:
    """Perturb, restore and update the trainable tensors of ``model``, or those given by name, in place."""

    def __init__(
        self,
        model: nn.Module | Mapping[str, Tensor],
        scratch: Path | None = None,
        block: int | None = None,
        shared: SharedMaster | None = None,
        fused: bool | None = None,
    ) -> None:
        tensors = trainable(model) if isinstance(model, nn.Module) else dict(model)
        if not tensors:
            raise ValueError("the model has no trainable tensors")
        for name, tensor in tensors.items():
            if not tensor.is_contiguous():
                raise ValueError(f"tensor {name} is not contiguous")
        self.shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        self.is_single = all(tensor.dtype == torch.float32 for tensor in tensors.values())
        self.device = next(iter(tensors.values())).device
        self.size = sum(tensor.numel() for tensor in tensors.values())
        self._kernels = _kernels(self.device) if fused is None else _kernels(None) if fused else None
        usual = BLOCK if self.device.type == "cpu" else CARD_BLOCK
        self._blocks = tuple(_blocks(tensors, block or usual))
        longest = max(each.count for each in self._blocks)
        self._held: _Memory | _File
        if shared is not None:
            self._held = _Shared(self.size, shared.name)
        else:
            self._held = _Memory(self.size) if scratch is None else _File(self.size, scratch, longest)
        self._made: tuple[int, int, int] | None = None  # whose noise stands in the buffer
        self._eps, self._sum = (torch.empty(longest, device=self.device) for _ in range(2))
        if shared is not None and not shared.fresh:
            self.restore()
            return
        with torch.no_grad():
            for each in self._blocks:
                self._held.write(each, torch.cat([piece.part.float() for piece in each.pieces]).cpu())

    @torch.no_grad()
    def perturb(self, individual: Individual, sigma: float) -> None:
        """Write the master plus sigma times the individual's noise into the model."""
        scale = _single(individual.sign * sigma)
        for each in self._blocks:
            if self._kernels is not None and not individual.rank:
                master = self._held.read(each).to(self.device)
                for piece in each.pieces:
                    self._kernels.perturb(_of(master, piece), piece, individual.seed, scale)
                continue
            moved = self._sum[: each.count]
            torch.mul(self._noise(each, individual.seed, individual.rank), scale, out=moved)
            _write(each, moved.add_(self._held.read(each).to(self.device)))

    @torch.no_grad()
    def restore(self) -> None:
        """Write the master into the model."""
        for each in self._blocks:
            _write(each, self._held.read(each).to(self.device))

    @torch.no_grad()
    def update(self, steps: Sequence[tuple[int, float]], part: int = 0, of: int = 1, rank: int = 0) -> float:
        """Add Σ weight · eps(seed) to the master, summed in float32 in the order given, and write it into the model.

        Where the master is shared, each of its workers does a part of the blocks. Returns the Euclidean norm of what was
        added.
        """
        squares = []
        wanted = [(seed, _single(weight)) for seed, weight in steps if weight != 0.0]
        for each in self._blocks[part::of]:
            master = self._held.read(each).to(self.device)
            if wanted and self._kernels is not None and not rank:
                for piece in each.pieces:
                    squares.append(self._kernels.update(_of(master, piece), piece, wanted))
                self._held.write(each, master)
                continue
            if wanted:
                total = self._sum[: each.count].zero_()
                for seed, weight in wanted:
                    # Two roundings, never a fused one: the same on every device.
                    total.add_(self._noise(each, seed, rank).mul_(weight))
                    self._made = None
                squares.append(torch.dot(total, total))
                master = total.add_(master)
                self._held.write(each, master)
            _write(each, master)
        return float(torch.stack(squares).double().sum().sqrt()) if squares else 0.0

    @torch.no_grad()
    def overflowed(self) -> bool:
        """Whether a weight is too large for its own type: float16 ends at 65,504, the others nowhere near a model."""
        parts = (piece.part for each in self._blocks for piece in each.pieces)
        return any(part.dtype == torch.float16 and not bool(part.isfinite().all()) for part in parts)

    def sample(self, key: int) -> str:
        """Return BLAKE2b over ranges of the master that ``key`` picks; over all of it where it is small."""
        if self.size <= RANGE * RANGES:
            return self.digest()
        found = hashlib.blake2b(repr(key).encode(), digest_size=16)
        places = sorted({hash64(b"sample", key, i) % (self.size // RANGE) for i in range(RANGES)})
        for place in places:
            found.update(self._held.read(_Block(place * RANGE, RANGE, ())).numpy().tobytes())
        return found.hexdigest()

    def digest(self) -> str:
        """Return BLAKE2b over the master, 32 hex digits; equal for equal weights and names only."""
        found = hashlib.blake2b(digest_size=16)
        found.update(repr(list(self.shapes.items())).encode())
        for each in self._blocks:
            found.update(self._held.read(each).numpy().tobytes())
        return found.hexdigest()

    def master(self) -> dict[str, Tensor]:
        """Return a copy of the master by name, float32 on the processor: the memory of a whole model."""
        parts: dict[str, list[Tensor]] = {name: [] for name in self.shapes}
        for each in self._blocks:
            held = self._held.read(each).clone()
            for piece in each.pieces:
                parts[piece.name].append(held[piece.offset : piece.offset + piece.count])
        return {name: torch.cat(found).reshape(self.shapes[name]) for name, found in parts.items()}

    @torch.no_grad()
    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Set master and model from tensors by name."""
        for name, shape in self.shapes.items():
            if name not in tensors or tuple(tensors[name].shape) != shape:
                raise ValueError(f"tensor {name} of shape {shape} is missing or of another shape")
        for each in self._blocks:
            held = torch.cat([_elements(tensors, piece) for piece in each.pieces])
            self._held.write(each, held)
            _write(each, held.to(self.device))

    def write(self, path: Path) -> None:
        """Write the master as safetensors, block by block."""
        write_single(path, self.shapes, (self._held.read(each) for each in self._blocks))

    def close(self) -> None:
        """Give the scratch file back."""
        self._held.close()

    def _noise(self, block: _Block, seed: int, rank: int) -> Tensor:
        eps = self._eps[: block.count]
        if self._made == (
            block.start,
            seed,
            rank,
        ):  # the other one of an antithetic pair, in a model of one block
            return eps
        self._made = (block.start, seed, rank)
        for piece in block.pieces:
            out, shape = _of(eps, piece), self.shapes[piece.name]
            if rank and len(shape) > 1:
                noise.fill_low_rank(out, seed, piece.name, shape, rank, piece.start)
            elif eps.device.type == "cpu":
                noise.fill(out.numpy(), seed, piece.name, piece.start)
            else:
                out.copy_(noise.normals(seed, piece.name, piece.start, piece.count, eps.device))
        return eps


class _Memory:
    def __init__(self, size: int) -> None:
        self._all = torch.empty(size)

    def read(self, block: _Block) -> Tensor:
        return self._all[block.start : block.start + block.count]

    def write(self, block: _Block, values: Tensor) -> None:
        self.read(block).copy_(values)

    def close(self) -> None:
        self._all = torch.empty(0)


@dataclass(frozen=True, slots=True)
class SharedMaster:
    """Memory that the workers of a machine share, by its name; ``fresh``: nothing is in it yet."""

    name: str
    fresh: bool


class _Shared(_Memory):
    def __init__(self, size: int, name: str) -> None:
        self._segment = SharedMemory(name)
        if self._segment.size < size * _BYTES:
            raise ValueError(f"shared memory of {self._segment.size} bytes is too small for {size} weights")
        self._all = torch.frombuffer(self._segment.buf, dtype=torch.float32, count=size)

    def close(self) -> None:
        super().close()
        with contextlib.suppress(BufferError):  # a view is still there: the system closes it with the process
            self._segment.close()


class _File:
    """An unlinked file: gone when the process ends, however it ends."""

    def __init__(self, size: int, folder: Path, longest: int) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._file = tempfile.TemporaryFile(dir=folder, prefix=".master.", buffering=0)  # noqa: SIM115
        with naming(folder):
            os.ftruncate(self._file.fileno(), size * _BYTES)
        self._buffer: NDArray[np.float32] = np.empty(longest, dtype=np.float32)

    def read(self, block: _Block) -> Tensor:
        view = self._buffer[: block.count]
        raw, place = view.view(np.uint8).data, block.start * _BYTES
        while raw:
            got = os.preadv(self._file.fileno(), [raw], place)
            raw, place = raw[got:], place + got
        return torch.from_numpy(view)

    def write(self, block: _Block, values: Tensor) -> None:
        raw, place = values.cpu().numpy().view(np.uint8).data, block.start * _BYTES
        with naming(self._folder):
            while raw:
                put = os.pwrite(self._file.fileno(), raw, place)
                raw, place = raw[put:], place + put

    def close(self) -> None:
        self._file.close()


def steps(individuals: Iterable[Individual], z: Iterable[float], alpha: float) -> list[tuple[int, float]]:
    """Return seed and weight alpha / N · z of every noise; the two of an antithetic pair become one."""
    members = list(zip(individuals, z, strict=True))
    weights: dict[int, float] = {}
    for individual, value in members:
        weights[individual.seed] = weights.get(individual.seed, 0.0) + individual.sign * float(value)
    return [(seed, alpha / len(members) * weight) for seed, weight in weights.items()]


def _blocks(tensors: Mapping[str, Tensor], most: int) -> Iterator[_Block]:
    """Cut all tensors, one after another, into blocks of ``most`` elements; only the last is shorter."""
    pieces: list[_Piece] = []
    begin = filled = 0
    for name, tensor in tensors.items():
        flat, start = tensor.view(-1), 0
        while start < len(flat):
            count = min(most - filled, len(flat) - start)
            pieces.append(_Piece(name, flat[start : start + count], start, filled, count))
            start, filled = start + count, filled + count
            if filled == most:
                yield _Block(begin, filled, tuple(pieces))
                begin, filled, pieces = begin + filled, 0, []
    if filled:
        yield _Block(begin, filled, tuple(pieces))


def _elements(tensors: Mapping[str, Tensor], piece: _Piece) -> Tensor:
    flat = tensors[piece.name].detach().reshape(-1)
    return flat[piece.start : piece.start + piece.count].float().cpu()


def _write(block: _Block, values: Tensor) -> None:
    for piece in block.pieces:
        piece.part.copy_(values[piece.offset : piece.offset + piece.count])


def _of(block: Tensor, piece: _Piece) -> Tensor:
    return block[piece.offset : piece.offset + piece.count]


def _kernels(device: torch.device | None) -> Any:
    """Return the kernels that make noise and weights in one pass: on a card with Triton; None elsewhere."""
    if device is not None and (device.type != "cuda" or find_spec("triton") is None):
        return None
    from metacog_pipeline.benchmarks.selfknowledge.training import kernels

    return kernels


def _single(number: float) -> float:
    """Round to float32 here, not wherever a device happens to."""
    return float(np.float32(number))
