"""Ten thousand flipped bits in the home of a study of five benchmarks: each is named by ``metacog doctor --kept``.

``METACOG_FLIPS=500 pytest -m proof tests/proofs/test_flipped_bits.py`` tries fewer. Every kind of file gets as many
flips as any other, whatever its size. Left out are what Dagster keeps for itself and files that hold nothing:
locks, and two notes of which a changed one only makes the next run look again: that a run found nothing to do, and what
kept answers cost.
"""

import os
import random
import re
from collections import defaultdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from metacog_pipeline.cli import cli
from metacog_pipeline.home import Home
from metacog_pipeline.study import digests, load_study
from metacog_pipeline.transcripts import verification
from metacog_pipeline.transcripts.folder import folder_called

pytestmark = pytest.mark.proof
FLIPS = int(os.environ.get("METACOG_FLIPS", "10000"))
WHOLE_COMMAND_EVERY = 50  # in between, only the checks that concern the file, as the command makes them
HARMLESS = ("lock", ".lock")

STUDY = """
[study]
name = "flips"
home = "home"
budget_usd = 1.0
[[models]]
name = "one"
provider = "simulated"
[[models]]
name = "two"
provider = "simulated"
[benchmarks.metamedqa]
dataset = "sample"
limit = 10
[benchmarks.medley]
dataset = "sample"
limit = 2
[benchmarks.metacogbench]
limit = 5
[benchmarks.selfknowledge]
dataset = "sample"
limit = 10
[benchmarks.signaldetection]
dataset = "sample"
trials = 20
"""


def _kinds(home: Path) -> dict[str, list[Path]]:
    """Return the files of a home by kind: their folders and names without what is counted in them."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(home.rglob("*")):
        inside = path.relative_to(home)
        if (
            path.is_file()
            and path.stat().st_size
            and inside.parts[0] != "dagster"
            and path.name not in HARMLESS
        ):
            found[re.sub(r"=[^/]+|\d+|[0-9a-f]{8,}", "", str(inside.parent / path.suffix))].append(path)
    return found


def _noticed(study: Path, home: Path, path: Path) -> bool:
    """Whether the check that concerns ``path`` names it."""
    if path.parent.name.startswith("run=") and "transcripts" in path.parts:
        folder = folder_called(Home(home), path.parent.relative_to(home).as_posix())
        assert folder is not None
        found = verification.check(folder)
        if any(str(path) in line for line in found.damage):
            return True
    if path.parent == home / "ledger":
        return "ledger record" in CliRunner().invoke(cli, ["doctor", str(study), "--kept"]).output
    return path in digests.compare(load_study(study).home).damage


def test_every_flipped_bit_is_named(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    done = CliRunner().invoke(cli, ["run", str(study), "--quiet"])
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(cli, ["doctor", str(study), "--kept"]).exit_code == 0
    home, draw = tmp_path / "home", random.Random(15)
    kinds = list(_kinds(home).values())
    silent: list[str] = []
    for number in range(FLIPS):
        path = draw.choice(kinds[number % len(kinds)])
        whole = path.read_bytes()
        bit = draw.randrange(8 * len(whole))
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        if number % WHOLE_COMMAND_EVERY:
            noticed = _noticed(study, home, path)
        else:
            noticed = CliRunner().invoke(cli, ["doctor", str(study), "--kept"]).exit_code != 0
        if not noticed:
            silent.append(f"{path.relative_to(home)}: bit {bit}")
        path.write_bytes(whole)
    assert not silent, f"{len(silent)} of {FLIPS}: {silent[:20]}"
