"""Who knows only docs/benchmarks/medley/README.md can make a new set: its files, its commands, simulated people."""

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from metacog_pipeline.asking import construction
from metacog_pipeline.benchmarks.medley import Medley
from metacog_pipeline.cli import cli
from metacog_pipeline.study import load_study

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "medley" / "README.md"


def blocks(kind: str) -> list[str]:
    """Return the blocks of the page's section on new instances."""
    section = PAGE.read_text("utf-8").split("## New instances\n")[1].split("\n## ")[0]
    return re.findall(rf"```{kind}\n(.*?)```", section, flags=re.DOTALL)


def commands() -> list[list[str]]:
    lines = [line.partition("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line]


@pytest.fixture
def at_home(tmp_path, monkeypatch):
    """Return the folder of a stranger who has copied the page's files."""
    for name, text in zip(("seeds.toml", "study.toml"), blocks("toml"), strict=True):
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typed(*words: str, code: int = 0) -> Result:
    found = CliRunner().invoke(cli, list(words))
    assert found.exit_code == code, (found.output, found.exception)
    return found


def test_the_study_of_the_page_is_planned(at_home):
    plan, *_ = commands()
    told = json.loads(typed(*plan, "--json").output)
    assert {"medley", "medley_designers"} & {row["benchmark"] for row in told["rows"]} or told["notes"]


@pytest.mark.proof
def test_a_stranger_makes_and_publishes_a_set_by_the_page(at_home, capsys):
    _, walk = commands()
    assert walk == ["run", "study.toml"]
    own = at_home / "study.toml"
    text = own.read_text()
    typed(*walk, "--quiet")
    exec(blocks("python")[0], {})
    told = capsys.readouterr().out
    assert "not fit to be released" in told and "G1: " in told and "add seeds" in told
    again = text.split("[benchmarks.medley.generator]")[0] + 'folder = "my-set"\n'
    (at_home / "again.toml").write_text(again.replace('home = "home"', 'home = "again"'))
    bench = Medley.of(load_study(at_home / "again.toml"))
    bench.context.study.prepare()
    construction.build(bench)
    assert [each.vignette for each in bench.items] == [
        each.vignette for each in Medley.of(load_study(own)).items
    ]
    assert len(bench.items) >= 1 and all(claim.claim_text for claim in bench.items[0].claims)
