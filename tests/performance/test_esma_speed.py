"""What the evolution strategy costs beside asking: time of a generation over time of its evaluations, and peak memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra train is not installed")

pytestmark = pytest.mark.bench

OVERHEAD = 0.03
COPIES = {"float32": 2.1, "bfloat16": 3.1}  # the model, and a float32 master of its weights
MEMORY = Path(__file__).with_name("esma_memory.py")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_memory_and_time_of_a_language_model(dtype, tmp_path, figure):
    command = [sys.executable, str(MEMORY), dtype, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    weights = f"{found['weights'] / 1e6:.0f} million weights in {dtype}"
    figure(
        f"a generation with {weights}, {found['population']} × {found['batch']} questions",
        f"≤ {OVERHEAD:.0%} over its evaluations",
        f"{found['generation_s']:.1f} s CPU, of which evaluation {found['pure_s']:.1f} s: {found['overhead']:.1%} more",
        found["overhead"] <= OVERHEAD,
    )
    figure(
        f"peak memory of evaluating and updating {weights}, over what was there before the model",
        f"≤ {COPIES[dtype]} copies of the model",
        f"{found['copies']:.2f} copies ({found['peak_mb']:.0f} MB; evaluation alone {found['evaluation_copies']:.2f})",
        found["copies"] <= COPIES[dtype],
    )
