"""A study in surroundings nobody wished for: no right to write, a strict umask, a clock set back, damage."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.read import run_query
from tests.crash.conftest import Provider
from tests.provider.faults import FaultPlan
from tests.studies import metamedqa, write_study

pytestmark = pytest.mark.proof
COMMAND = (sys.executable, "-m", "metacog_pipeline")
BOARD = "select * from leaderboard order by all"
NOBODY = 65534
ITEMS = 12
LONGEST_S = 240.0

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
faketime = pytest.mark.skipif(not shutil.which("faketime"), reason="faketime is not installed")


@pytest.fixture
def provider(tmp_path):
    started = Provider(tmp_path)
    with started.server:
        started.use(FaultPlan(latency_s=0.05))
        yield started


@pytest.fixture
def study(provider):
    """Write a study into a folder of its own: pytest keeps others out of the folders that it makes."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        model = {"name": "one", "provider": "openai", "model": "one", "base_url": f"{provider.server.url}/v1"}
        model |= {"answer_mode": "text", "price_in": 1, "price_out": 1, "max_concurrency": 3}
        yield write_study(Path(folder), model, benchmarks=metamedqa(limit=ITEMS, conditions=["baseline"]))


def run(
    study: Path, *arguments: str, before: tuple[str, ...] = (), **more
) -> subprocess.CompletedProcess[str]:
    command = [*before, *COMMAND, "run", str(study), "--quiet", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False, **more)


def board(study: Path) -> object:
    return run_query(Home(study.parent / "home"), BOARD).rows


def asked(provider: Provider) -> Counter[str]:
    return Counter(digest for digest, _ in provider.calls())


def is_one_line(error: str) -> bool:
    return "Traceback" not in error and 0 < len(error.strip().splitlines()) <= 2


def given_away(folder: Path) -> None:
    """Give a folder and all in it to nobody."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)


def as_nobody(umask: int = 0o022) -> dict[str, object]:
    """Return what starts a process as nobody, whose own folder is not there."""

    def become() -> None:
        os.umask(umask)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    return {"preexec_fn": become, "env": {**os.environ, "HOME": "/nonexistent"}}


@pytest.fixture
def nobody():
    """Skip where nobody may not read the interpreter that runs the tests."""
    try:
        subprocess.run([*COMMAND, "--version"], capture_output=True, check=True, **as_nobody())
    except (OSError, subprocess.SubprocessError):
        pytest.skip("the installation cannot be read by others")


@as_root
def test_a_plain_user_with_umask_077_and_an_installation_it_cannot_write_gets_a_board(
    study, provider, nobody
):
    given_away(study.parent)
    done = run(study, **as_nobody(0o077))
    assert done.returncode == 0, done.stderr
    assert board(study) and max(asked(provider).values()) == 1
    modes = {path.stat().st_mode & 0o077 for path in (study.parent / "home").rglob("*")}
    assert modes == {0}, "others may read what belongs to the user"


@as_root
def test_a_home_that_cannot_be_written_is_one_line_and_nothing_is_asked(study, provider, nobody):
    assert run(study).returncode == 0
    before, calls = board(study), len(provider.calls())
    shutil.rmtree(study.parent / "home" / "transcripts")
    for path in study.parent.rglob("*"):
        path.chmod(path.stat().st_mode & ~0o222 | 0o055)
    given_away(study)
    done = run(study, **as_nobody())
    assert done.returncode and is_one_line(done.stderr), done.stderr
    assert len(provider.calls()) == calls and board(study) == before


@faketime
def test_a_clock_set_back_by_a_day_asks_nothing_again(study, provider):
    assert run(study).returncode == 0
    before = board(study)
    done = run(study, before=("faketime", "-f", "-1d"))
    assert done.returncode == 0, done.stderr
    assert board(study) == before and len(provider.calls()) == ITEMS
    study.write_text(study.read_text().replace(f"limit = {ITEMS}", f"limit = {ITEMS + 4}"))
    done = run(study, before=("faketime", "-f", "-1d"))
    assert done.returncode == 0, done.stderr
    assert max(asked(provider).values()) == 1 and len(provider.calls()) == ITEMS + 4
    assert board(study) != before


def test_two_runs_on_one_home_ask_each_question_once(study, provider):
    command = [*COMMAND, "run", str(study), "--quiet"]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    ends = [(each.communicate(timeout=LONGEST_S)[1], each.returncode) for each in both]
    assert 0 in [code for _, code in ends], ends
    assert all(code == 0 or is_one_line(error) for error, code in ends), ends
    assert max(asked(provider).values()) == 1 and len(provider.calls()) == ITEMS
    assert board(study)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


DAMAGED = {
    "journal": "transcripts/**/*.jsonl*",
    "copy of the journal": "transcripts/**/transcripts.parquet",
    "ledger": "ledger/*.json",
    "board": "leaderboard.duckdb",
    "history of runs": "dagster/**/*.db",
    "responses": "scored/**/*.parquet",
}


@pytest.mark.parametrize("harm", [cut, flipped, emptied])
@pytest.mark.parametrize("kind", DAMAGED)
def test_damage_is_mended_or_named_in_one_line_and_no_answer_is_lost(
    study, provider, kind: str, harm: Callable[[Path], None]
):
    assert run(study).returncode == 0
    before = board(study)
    harmed = [path for path in (study.parent / "home").glob(DAMAGED[kind]) if path.stat().st_size]
    assert harmed, f"a home has no {kind}"
    for path in harmed:
        harm(path)
    done = run(study)
    if done.returncode:
        assert is_one_line(done.stderr), done.stderr
    else:
        assert board(study) == before, f"another board, silently: {done.stderr}"
    most = max(asked(provider).values())
    assert most == 1 or done.stderr, "asked again without a word"
    print(
        f"\n{kind}, {harm.__name__}: exit {done.returncode}, asked {len(provider.calls())}; {done.stderr.strip()}"
    )
