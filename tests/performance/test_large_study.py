"""A study of 500 models, 3 runs and 5 benchmarks: what loading the definitions, a plan and a status cost."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench

MODELS, MOST_CPU_S = 500, 5.0
BENCHMARKS = """
[benchmarks.metamedqa]
dataset = "sample"
[benchmarks.signaldetection]
dataset = "sample"
[benchmarks.medley]
dataset = "sample"
judges = ["judge"]
[benchmarks.metacogbench]
[benchmarks.selfknowledge]
limit = 60
"""
COMMANDS = {
    "definitions": [
        "-c",
        "import metacog_assets.definitions as d; d.defs.resolve_asset_graph(); d.defs.get_repository_def()",
    ],
    "plan": ["-m", "metacog_pipeline", "plan", "study.toml"],
    "status": ["-m", "metacog_pipeline", "status", "study.toml"],
}


def write_study(folder: Path) -> None:
    """Write the study file."""
    row = '[[models]]\nname = "m{0:03}"\nprovider = "simulated"\nfamily = "f{0}"\n'
    judge = '[[judges]]\nname = "judge"\nprovider = "simulated"\nfamily = "other"\n'
    models = "".join(row.format(number) for number in range(MODELS))
    (folder / "study.toml").write_text(f'[study]\nname = "large"\nruns = 3\n{models}{judge}{BENCHMARKS}')


@pytest.mark.parametrize("what", COMMANDS)
def test_a_large_study_is_looked_at_in_seconds(tmp_path, what, figure):
    write_study(tmp_path)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *COMMANDS[what]],
        cwd=tmp_path,
        env={**os.environ, "METACOG_STUDY": str(tmp_path / "study.toml"), "POLARS_MAX_THREADS": "1"},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    told = f"{what} of 500 models × 3 runs × 5 benchmarks, nothing asked yet"
    figure(told, f"≤ {MOST_CPU_S:.0f} s CPU", f"{cpu:.1f} s", cpu <= MOST_CPU_S)
