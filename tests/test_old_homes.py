"""A home of version 0.1 opens: nothing is asked again, nothing deleted, the rest is made anew."""

import hashlib
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from metacog_pipeline.cli import cli
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.study import Study, load_study

pytestmark = pytest.mark.usefixtures("few_resamples")
ARCHIVE = Path(__file__).parent / "homes" / "version-0.1.tar.xz"


@pytest.fixture
def old(tmp_path):
    """Return a study of all five benchmarks with the home version 0.1 left: one simulated model, a few items."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    study = tmp_path / "study.toml"
    return load_study(study)


def kept(study: Study) -> dict[str, str]:
    """Return the digest of every journal, by its path below the home."""
    paths = sorted(study.home.transcripts.rglob("journal-*.jsonl"))
    return {
        str(path.relative_to(study.home.path)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
    }


@pytest.mark.proof
def test_the_boards_are_made_anew_and_nothing_is_asked_again_or_deleted(old):
    before = kept(old)
    assert len(before) == 5
    done = CliRunner().invoke(cli, ["run", str(old.path), "--quiet"])
    assert old.home.leaderboard.exists(), done.output
    # Tier 2 of MetaCog-Bench and the sample of MEDLEY are others by now: they are asked, in journals of their own.
    other = ("metacogbench", "medley")
    after = {
        name: digest
        for name, digest in kept(old).items()
        if name in before or not any(each in name for each in other)
    }
    asked = {name.rpartition("/")[0] for name in before}
    assert {name: digest for name, digest in after.items() if name.rpartition("/")[0] in asked} == before
    lines = sum(path.read_bytes().count(b"\n") for path in old.home.transcripts.rglob("journal-*.jsonl"))
    counted = "select count(*), max(coalesce(reask, 0)) from transcripts"
    (found,) = run_query(old.home, counted).rows
    assert found[0] == lines >= 50 and found[1] == 0
    scored = "select count(distinct benchmark) from leaderboard where source <> 'published'"
    assert run_query(old.home, scored).rows == ((5,),)
