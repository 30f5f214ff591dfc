"""The kernels beside the numbers of ``noise`` on a processor: on a card, or, run as a script with TRITON_INTERPRET=1, on
the processor. The script prints one line of JSON."""

import json

import torch
from torch import nn

from metacog_pipeline.benchmarks.selfknowledge.training.seeds import Individual
from metacog_pipeline.benchmarks.selfknowledge.training.weights import Weights


class Odd(nn.Module):
    """Lengths that fit no block, in two types."""

    def __init__(self, dtype):
        super().__init__()
        drawn = torch.Generator().manual_seed(0)
        for name, shape in (("a", (37, 41)), ("b", (3,)), ("c", ()), ("d", (1100, 2))):
            setattr(self, name, nn.Parameter(torch.randn(shape, generator=drawn).to(dtype)))


def bits(model):
    kind = {2: torch.int16, 4: torch.int32}
    return [p.detach().reshape(-1).view(kind[p.element_size()]).cpu().clone() for p in model.parameters()]


def compared(device):
    """Return whether perturbed, updated and digested weights are those of the processor, six answers for each type."""
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        models = Odd(dtype), Odd(dtype).to(device)
        own, fused = (
            Weights(model, block=1000, fused=kind) for model, kind in zip(models, (False, True), strict=True)
        )
        for seed, sign in ((1, 1), (2**64 - 1, -1), (2**63, 1)):
            for weights in (own, fused):
                weights.perturb(Individual(seed, sign), 0.3)
            found.append(all(torch.equal(a, b) for a, b in zip(*map(bits, models), strict=True)))
        norms = [weights.update([(7, 0.1), (2**64 - 3, -0.7), (9, 1e-4)]) for weights in (own, fused)]
        found.append(own.digest() == fused.digest())
        found.append(all(torch.equal(a, b) for a, b in zip(*map(bits, models), strict=True)))
        found.append(abs(norms[0] - norms[1]) < 1e-5 * norms[0])
    return found


if __name__ == "__main__":
    print(json.dumps(compared("cpu")))
