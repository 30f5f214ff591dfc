"""The README and the pages it leads to: help texts, commands, links. ``METACOG_UPDATE_README=1`` rewrites help texts."""

import os
import re
from pathlib import Path

import click
from click.testing import CliRunner

from metacog_pipeline.cli import cli
from metacog_pipeline.study import load_study
from tests.tables import every

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
COMMANDS = ROOT / "docs" / "commands.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
MARK = "<!-- The blocks below are the commands' own help texts; a test holds them equal. -->\n"


def commands(group: click.Group, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    found, context = [path], click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        command._help_option = (
            None  # click keeps the one of the first caller, here perhaps a test of the command alone
        )
        found += commands(command, (*path, name)) if isinstance(command, click.Group) else [(*path, name)]
    return found


def help_text(path: tuple[str, ...]) -> str:
    arguments = [*path[1:], "--help"]
    result = CliRunner().invoke(cli, arguments, prog_name=path[0], terminal_width=100, max_content_width=100)
    assert result.exit_code == 0
    return result.output.rstrip()


def expected() -> str:
    found = commands(cli, ("metacog",))
    blocks = [f"```\n$ {' '.join(path)} --help\n{help_text(path)}\n```\n" for path in found]
    return MARK + "\n" + "\n".join(blocks)


def test_the_help_texts_are_the_commands_own():
    text = COMMANDS.read_text(encoding="utf-8")
    head, mark, _ = text.partition(MARK)
    assert mark, "docs/commands.md has lost its marker for help texts"
    if os.environ.get("METACOG_UPDATE_README"):
        COMMANDS.write_text(head + expected(), encoding="utf-8")
        return
    assert text == head + expected(), (
        "help texts changed: run METACOG_UPDATE_README=1 pytest tests/test_readme.py"
    )


@every("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_on_a_page_exists(page):
    known = cli.list_commands(click.Context(cli))
    shown = re.findall(r"(?:^|`)metacog (\w[\w-]*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(shown) <= set(known)


@every("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        found = page.parent / path if path else page
        assert found.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)$", found.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}, (
                target
            )


def test_every_make_target_the_readme_shows_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"(?:^|`)make (\w+)", README.read_text(encoding="utf-8"), re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_readme_is_short_enough_to_be_read():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 250


def test_the_study_in_the_readme_is_a_valid_study(tmp_path):
    block = re.search(r"```toml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    path = tmp_path / "my-study.toml"
    path.write_text(block[1], encoding="utf-8")
    study = load_study(path)
    assert [spec.name for spec in study.models] == ["small", "local", "mine"]
    assert study.models[1].free
