"""``--json``: every command prints one JSON value on standard output, and nothing else."""

import json
import shutil
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import click
import pytest

from metacog_pipeline.cli import cli, printing, running
from metacog_pipeline.leaderboard import publishing
from metacog_pipeline.leaderboard.output import Rows
from metacog_pipeline.study import load_study
from tests.cli.scoring import scored
from tests.studies import metamedqa, write_study

TRIALS = "correct,confidence\n" + "".join(f"{i % 3 > 0:d},{(i * 7) % 5 + 1}\n" for i in range(60))

#: What is typed after ``metacog``, and names or columns that must be in the value.
TYPED: list[tuple[str, set[str]]] = [
    ("status study.toml --batches", set()),
    ("board --study study.toml", {"question", "benchmark", "model", "estimate", "n_better", "verdict"}),
    ("board --all --study study.toml", {"benchmark", "model", "measure", "estimate", "rank"}),
    ("board metamedqa --study study.toml --format json", {"benchmark", "model"}),
    ("export study.toml --format bundle --to all.zip --json", {"wrote", "told"}),
    ("compare careful hasty --study study.toml", {"question", "measure", "value", "p_adjusted"}),
    ("doctor study.toml --offline", {"state", "subject", "text"}),
    ("export study.toml --to out --format csv --json", {"wrote", "told"}),
    ("show study.toml metamedqa baseline careful accuracy", {"board", "asked", "sql"}),
    ("doctor study.toml --fetch", {"sources"}),
    ("fit trials.csv --correct correct --confidence confidence --scale 1..5", {"measure", "value", "low", "high"}),
    ("import metamedqa answers.csv --study study.toml --model theirs --run 1", {"kept", "not_taken", "understood"}),
    ("init new.toml --model simulated", {"wrote", "next"}),
    ("plan study.toml", {"study", "rows", "notes"}),
    ("read metacogbench replies.jsonl", {"replies"}),
    ("report study.toml", {"report"}),
    ("sql --study study.toml from+models", {"model", "provider"}),
    ("status study.toml", {"study", "board_current", "spent_usd", "partitions"}),
    ("status study.toml --costs", {"costs"}),
    ("doctor study.toml --kept", {"records", "damage", "ledger_usd", "tables"}),
]  # fmt: skip
#: Not run here: they ask, serve, fetch or train for minutes; what they share is tested below.
BY_HAND = {"demo", "run", "ui", "serve", "train"}


@pytest.fixture(scope="module")
def made(few_resamples, tmp_path_factory):
    """The folder of a small study that was asked, scored and published."""
    folder = tmp_path_factory.mktemp("printed")
    asked = (
        {"name": name, "provider": "simulated", "observer": {"accuracy": share, "seed": seed}}
        for name, share, seed in (("careful", 0.85, 1), ("hasty", 0.55, 2))
    )
    theirs = {"name": "theirs", "provider": "replay"}
    write_study(folder, *asked, theirs, benchmarks=metamedqa(limit=10))
    (folder / "trials.csv").write_text(TRIALS, encoding="utf-8")
    first = scored(load_study(folder / "study.toml")).items[0].item_id
    publishing.publish(load_study(folder / "study.toml"), asking=False)
    (folder / "answers.csv").write_text(f"item_id,choice,confidence\n{first},A,5\n", encoding="utf-8")
    reply = {"id": "b", "item_id": "predict.capital", "response": "ANSWER: Ottawa"}
    (folder / "replies.jsonl").write_text(json.dumps(reply) + "\n", encoding="utf-8")
    item = {"question": "Which?", "options": {"A": "a", "B": "b"}, "answer_idx": "A"}
    (folder / "items.jsonl").write_text(json.dumps(item) + "\n", encoding="utf-8")
    return folder


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield " ".join(path), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from leaves(found, (*path, name))


def test_every_command_takes_it_and_is_run_here_or_named():
    names = set()
    for name, command in leaves(cli):
        assert any("--json" in param.opts for param in command.params), name
        names.add(name)
    run = {name for name in names if any(typed.startswith(f"{name} ") for typed, _ in TYPED)}
    assert not run & BY_HAND
    assert run | BY_HAND == names


@pytest.mark.parametrize(("typed", "parts"), TYPED, ids=[typed[:60] for typed, _ in TYPED])
def test_it_is_one_value_and_nothing_else(metacog, made, monkeypatch, typed, parts):
    monkeypatch.chdir(made)
    extra = [] if "--format" in typed else ["--json"]
    result = metacog(*(word.replace("+", " ") for word in typed.split()), *extra)
    assert result.code in (0, 1, 8), result.err
    value = json.loads(result.out)
    first: Any = value[0] if isinstance(value, list) and value else value
    assert parts <= set(first)


@pytest.mark.parametrize("typed", ["run study.toml", "demo --folder demo"])
def test_a_run_says_how_far_the_study_is(metacog, made, tmp_path, monkeypatch, typed):
    folder = shutil.copytree(made, tmp_path / "own")
    monkeypatch.chdir(folder)
    shutil.copytree(folder / "home", folder / "demo" / "home")
    shutil.copyfile(folder / "study.toml", folder / "demo" / "study.toml")

    class Child(SimpleNamespace):
        """A run that has found everything done, and printed where it should not."""

        def __init__(self, command: list[str], *, stdout: int | None, **rest: object) -> None:
            super().__init__()
            assert stdout is not None

        def wait(self) -> int:
            return 0

    monkeypatch.setattr(running.subprocess, "Popen", Child)
    result = metacog(*typed.split(), "--json")
    value = json.loads(result.out)
    assert {"partitions", "exit_code"} <= set(value) or {"verdict", "report"} <= set(value)


@pytest.mark.parametrize("typed", ["ui study.toml --port 0", "serve --port 0"])
def test_a_server_says_its_address_before_it_serves(metacog, made, monkeypatch, typed):
    from metacog_pipeline.llm import serve

    monkeypatch.chdir(made)
    monkeypatch.setattr(running.os, "execve", lambda *given: None)  # it takes the place of this process
    monkeypatch.setattr(serve, "serve", lambda app, port, announce: announce("listening on http://h:1"))
    assert json.loads(metacog(*typed.split(), "--json").out)["address"].startswith("http://")


def test_a_mistake_prints_nothing_on_standard_output(metacog, made):
    result = metacog("board", "metamedq", "--study", made / "study.toml", "--json")
    result.refused_in_one_line('"metamedq"')
    assert result.out == ""


def test_what_is_said_is_words_or_data():
    @click.command()
    @printing.json_option
    def command() -> None:
        printing.say("one file", wrote=["a"])
        printing.say("another", wrote=("b",), n=2)
        printing.say("only words")
        printing.table("rows", Rows(("x",), ((float("nan"),), (1.0,))))

    from click.testing import CliRunner

    run = CliRunner().invoke
    said = json.loads(run(command, ["--json"]).output)
    assert said == {"wrote": ["a", "b"], "n": 2, "rows": [{"x": None}, {"x": 1.0}]}
    lines = run(command, []).output.splitlines()
    assert lines[:3] == ["one file", "another", "only words"]
