"""Shell completion: the scripts are what their shells read, and words are completed without a study or a network."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.tables import every

CALL = [sys.executable, "-c", "from metacog_pipeline.cli import main; main()"]


def complete(shell: str, **variables: str) -> str:
    environment = {**os.environ, "_METACOG_COMPLETE": shell, **variables}
    done = subprocess.run(CALL, capture_output=True, text=True, timeout=60, env=environment)
    assert done.stderr == "" or "bash" in done.stderr.lower(), done.stderr  # an old bash is warned of
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_its_shell_can_read(shell, tmp_path):
    script = complete(f"{shell}_source")
    assert "_METACOG_COMPLETE" in script and "metacog" in script
    program = shutil.which(shell)
    if program is not None:
        (tmp_path / "script").write_text(script, encoding="utf-8")
        subprocess.run([program, "-n", str(tmp_path / "script")], check=True, timeout=60)


def words(typed: str) -> list[str]:
    said = complete("bash_complete", COMP_WORDS=typed, COMP_CWORD=str(len(typed.split(" ")) - 1))
    return [line.partition(",")[2] for line in said.splitlines()]


@every(
    ("typed", "found"),
    [
        ("metacog bo", ["board"]),
        ("metacog s", ["status", "sql", "serve"]),
        ("metacog board --st", ["--study"]),
        ("metacog board --format j", ["json"]),
        ("metacog train pre", ["preflight"]),
        ("metacog exp", ["export", "explain"]),  # explore was removed
    ],
)
def test_commands_options_and_choices_are_completed(typed, found):
    assert words(typed) == found


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_a_command(tmp_path):
    (tmp_path / "script").write_text(complete("bash_source"), encoding="utf-8")
    (tmp_path / "metacog").write_text(f'#!/bin/sh\nexec "{CALL[0]}" -c "{CALL[2]}" "$@"\n')
    (tmp_path / "metacog").chmod(0o755)
    typed = (
        'COMP_WORDS=(metacog stat); COMP_CWORD=1; _metacog_completion metacog stat; echo "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", f"source {tmp_path}/script; {typed}"],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )
    assert done.stdout.strip() == "status", done.stderr
