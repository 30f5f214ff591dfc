"""Who knows only docs/benchmarks/medley/README.md can make a new set: its files, its commands, simulated people."""

import itertools
import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from metacog_pipeline.asking import construction
from metacog_pipeline.benchmarks.medley import Medley
from metacog_pipeline.cli import cli
from metacog_pipeline.study import load_study

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "medley" / "README.md"
_ROW = re.compile(
    r'\{ name = "(?P<name>[\w-]+)", provider = "\w+",(?: base_url = "[^"]*", api_key_env = "\w+",)? model = "[^"]+",'
)


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
    monkeypatch.setenv("OPENAI_API_KEY", "rehearsal")
    return tmp_path


def typed(*words: str, code: int = 0) -> Result:
    found = CliRunner().invoke(cli, list(words))
    assert found.exit_code == code, (found.output, found.exception)
    return found


def test_the_study_of_the_page_is_planned_with_real_providers(at_home):
    plan, *_ = commands()
    assert plan == ["plan", "study.toml"]
    told = json.loads(typed(*plan, "--json").output)
    rows = {(row["benchmark"], row["model"]): row for row in told["rows"]}
    seeds = len(tomllib.loads((at_home / "seeds.toml").read_text())["seeds"])
    assert (
        rows["medley_designers", "author-1"]["calls"] == 2 * seeds
    )  # one that cannot be read is asked again
    assert all(row["calls"] > 0 and row["at_most_usd"] > 0 for row in rows.values())
    assert any("its items are not made yet" in note for note in told["notes"])


@pytest.mark.proof
def test_a_stranger_makes_gates_and_publishes_a_set_by_the_page(at_home, capsys):
    _, walk = commands()
    assert walk == ["run", "study.toml"]
    own, seeds = at_home / "study.toml", itertools.count(1)
    text, rows = _ROW.subn(
        lambda row: (
            f'{{ name = "{row["name"]}", provider = "simulated", observer = {{ seed = {next(seeds)} }},'
        ),
        own.read_text(),
    )
    assert rows == 12
    own.write_text(text)
    typed(*walk, "--quiet")
    exec(blocks("python")[0], {})
    told = capsys.readouterr().out
    assert all(f"{name} " in told for name in ("G1", "G15", "X1", "X8"))
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
