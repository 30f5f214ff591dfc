"""The prompt of ``metacog sql`` answers one statement after another and goes on after a mistake."""

from collections.abc import Iterator

import pytest

from metacog_pipeline.cli.prompting import prompt
from metacog_pipeline.errors import StudyError
from metacog_pipeline.home import Home


def answered(query: str) -> str:
    if "wrong" in query:
        raise StudyError("query: no table wrong")
    return f"[{query}]\n"


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str | type[BaseException]) -> None:
    left: Iterator[str | type[BaseException]] = iter([*lines, EOFError])

    def read(_: str) -> str:
        line = next(left)
        if isinstance(line, str):
            return line
        raise line

    monkeypatch.setattr("builtins.input", read)


def test_a_statement_ends_with_its_semicolon_and_may_take_several_lines(monkeypatch, tmp_path, capsys):
    typed(monkeypatch, "select 1;", "", "select", "2;", ";")
    prompt(Home(tmp_path), answered)
    assert capsys.readouterr().out.splitlines()[1:] == ["[select 1]", "[select", "2]", ""]


def test_a_mistake_is_one_line_and_the_prompt_goes_on(monkeypatch, tmp_path, capsys):
    typed(monkeypatch, "from wrong;", "from right;")
    prompt(Home(tmp_path), answered)
    said = capsys.readouterr()
    assert said.err == "metacog: query: no table wrong\n"
    assert "[from right]" in said.out


@pytest.mark.parametrize("word", ["exit", "quit;", r"\q"])
def test_exit_ends_it(monkeypatch, tmp_path, capsys, word):
    typed(monkeypatch, word, "from never;")
    prompt(Home(tmp_path), answered)
    assert "never" not in capsys.readouterr().out


def test_an_interrupt_forgets_the_line_and_no_more(monkeypatch, tmp_path, capsys):
    typed(monkeypatch, "select", KeyboardInterrupt, "from right;")
    prompt(Home(tmp_path), answered)
    assert "[from right]" in capsys.readouterr().out


def test_a_home_that_cannot_be_written_loses_the_history_only(monkeypatch, tmp_path, capsys):
    typed(monkeypatch, "from right;")
    prompt(Home(tmp_path / "none"), answered)
    assert "[from right]" in capsys.readouterr().out
