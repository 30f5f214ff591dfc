"""The README and the pages it links to: commands, links, sizes, the picture and the output of the demo."""

import hashlib
import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from metacog_pipeline.cli import cli
from tests.tables import every
from tests.test_site import load

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]

picture = load("picture")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Return the folder of a whole demo and what it printed."""
    folder: Path = tmp_path_factory.mktemp("demo")
    return folder, picture.run_demo(folder)


@pytest.mark.proof  # the demo takes as long as all other tests of the pages
def test_the_readme_has_the_output_of_the_demo(demo):
    (shown,) = re.findall(
        r"^<!-- what the demo prints.*?^```\n(.*?)^```", README.read_text("utf-8"), re.M | re.S
    )
    assert shown == demo[1], "run python docs/picture.py"


@pytest.mark.proof
def test_the_picture_is_the_first_screen_of_the_demo(demo):
    assert picture.digest(picture.page(demo[0])) == picture.DIGEST.read_text().split()[0], (
        "run python docs/picture.py"
    )


def test_the_picture_was_taken_with_its_digest_and_is_small():
    made = hashlib.sha256(picture.PICTURE.read_bytes()).hexdigest()
    assert made == picture.DIGEST.read_text().split()[1]
    assert picture.PICTURE.stat().st_size <= picture.MOST_BYTES


@pytest.mark.proof
def test_the_tutorial_runs_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    ((study, python),) = re.findall(r"```toml\n(.*?)```.*```python\n(.*?)```", text, re.DOTALL)
    lines = [
        line for line in re.findall(r"^metacog (.*)$", text, re.MULTILINE) if not line.startswith("board m")
    ]
    printed = ""
    for line in lines:
        result = CliRunner().invoke(cli, shlex.split(line, comments=True), prog_name="metacog")
        assert result.exit_code == 0, (line, result.output)
        if line.startswith("init"):
            Path("first.toml").write_text(study, encoding="utf-8")
        printed += result.stdout
    (sentence,) = re.findall(r"```\n(Knows what it knows: .*?)```", text, re.DOTALL)
    assert sentence in printed
    exec(compile(python, "tutorial.md", "exec"), {})


@every("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_on_a_page_exists(page):
    known = cli.list_commands(click.Context(cli))
    shown = re.findall(r"(?:^|`)metacog (\w[\w-]*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(shown) <= set(known)


def test_every_make_target_the_readme_shows_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"(?:^|`)make (\w+)", README.read_text(encoding="utf-8"), re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_readme_and_docs_are_short_enough_to_be_read():
    words = {page: len(page.read_text("utf-8").split()) for page in PAGES}
    assert len(README.read_text("utf-8").splitlines()) <= 160
    assert sum(words.values()) <= 25_000
    for page, n in words.items():
        if page.parent.parent.name == "benchmarks":
            assert n <= 900, page
        assert page.name not in ("performance.md", "reliability.md") or n <= 700, page
