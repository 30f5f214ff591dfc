"""A log of 10,000 samples: from the file to the board, in processor time."""

import json
import random
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.logs.conftest import FIXTURES, entries_of
from tests.performance.spending import spent

pytestmark = pytest.mark.bench
SAMPLES = 10_000


def log_of(path: Path, n: int) -> Path:
    """Write a log of ``n`` questions: samples of a real one, with other questions and answers."""
    entries, draw = entries_of(FIXTURES / "small.eval"), random.Random(0)
    base: dict[str, Any] = entries["samples/g0_epoch_1.json"]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("header.json", json.dumps(entries["header.json"]))
        for number in range(n):
            key = draw.choice("ABCD")
            good = draw.random() < 0.7
            said = key if good else draw.choice([each for each in "ABCD" if each != key])
            text = (
                f"ANSWER: {said}\nConfidence: {min(100, max(0, round(draw.gauss(80 if good else 60, 15))))}%"
            )
            own = {"id": f"q{number}", "input": f"Which of these is number {number}?", "target": key}
            own |= {
                "choices": [str(number + each) for each in range(4)],
                "output": {**base["output"], "completion": text},
            }
            archive.writestr(f"samples/q{number}_epoch_1.json", json.dumps({**base, **own}))
    return path


def seconds(file: Path, study: Path) -> float:
    """Return the processor time of importing a log into a new study, its board included."""
    found = spent([sys.executable, "-m", "metacog_pipeline", "import", file, "--study", study, "--quiet"])
    assert found.done.returncode == 0, found.done.stderr
    return found.seconds


def test_ten_thousand_samples_to_the_board(tmp_path, figure):
    large = seconds(log_of(tmp_path / "large.eval", SAMPLES), tmp_path / "large.toml")
    small = seconds(log_of(tmp_path / "small.eval", 20), tmp_path / "small.toml")
    figure(
        f"an inspect_ai log of {SAMPLES:,} samples to its board (one of 20 samples: {small:.1f} s)",
        "< 10 s CPU, process start included", f"{large:.1f} s", large < 10,
    )  # fmt: skip
