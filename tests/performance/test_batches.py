"""Processor time and memory of 50,000 requests in batches: written, submitted, read back, kept."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulated_server import ServerProcess

REQUESTS = 50_000
MOST_CPU_S, MOST_MB = 60.0, 700.0
STUDY = """
[study]
name = "bench"
home = "home"
[[models]]
name = "m"
provider = "{provider}"
model = "m"
base_url = "{url}"
price_in = 0.15
price_out = 0.6
thinking_tokens = 0
top_logprobs = 0
lane = "batch"
batch_factor = 0.5
[benchmarks.signaldetection]
"""

pytestmark = pytest.mark.bench


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_a_batch_of_50_000_requests_takes_a_minute_and_700_megabytes_at_most(provider, tmp_path, figure):
    with ServerProcess() as server:
        study = tmp_path / "study.toml"
        root = server.url + ("/v1" if provider == "openai" else "")
        study.write_text(STUDY.format(provider=provider, url=root))
        done = subprocess.run(
            [sys.executable, Path(__file__).with_name("batching.py"), study, str(REQUESTS)],
            env={**os.environ, "METACOG_PROGRESS": "quiet", "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            check=True,
        )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["answered"] == REQUESTS, found
    figure(
        f"batch of {REQUESTS:,} requests ({provider}): written, submitted, read back, kept",
        f"≤ {MOST_CPU_S:.0f} s CPU, ≤ {MOST_MB:.0f} MB",
        f"{found['cpu_s']:.1f} s CPU, {found['peak_mb']:.0f} MB",
        found["cpu_s"] <= MOST_CPU_S and found["peak_mb"] <= MOST_MB,
    )
