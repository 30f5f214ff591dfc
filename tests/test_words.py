"""Plain technical English in docs, help texts, messages, captions, descriptions and the first lines of docstrings.

``words_left.csv`` lists files that are not clean yet, with their number of findings; it may only shrink. ``python -m
tests.test_words`` prints every finding, ``python -m tests.test_words --left`` the list.
"""

import ast
import csv
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click

from metacog_pipeline.cli import cli
from tests.tables import every

ROOT = Path(__file__).resolve().parents[1]
LEFT = Path(__file__).with_name("words_left.csv")
MOST_WORDS = 35  # of a sentence
#: Words that a technical reader would have to guess, and what to write instead.
SAY: dict[str, str] = {
    r"mend(?:s|ed|ing)?": "correct, repair",
    r"beside": "next to, with",
    r"whom": "which model, who",
    r"leant to|drawn to": "name the cause",
    r"stands?": "is, has",
    r"anew|(?:made|makes?|making) again": "rebuilt, computed again",
    r"told|tells?|telling": "message, report",
    r"said": "message, stated",
    r"apart": "separate",
    r"whatever": "name it",
    r"behind": "stale, the source of",
    r"people": "human respondents, users",
    r"desks?|waves?|travels?|parking|parked": "queue, submission, transport, pending",
    r"nobody": "no model, no one who is named",
    r"what is there": "name it",
}
WORD = re.compile(rf"\b(?:{'|'.join(SAY)})\b", re.IGNORECASE)
#: Identifiers with a new name.
RENAMED: dict[str, str] = {
    "worded_by": "prompt_digest",
    "scored_by": "scoring_digest",
    "made_from": "input_digest",
    "asked_as": "request_digest",
    "asked_at_all": "preflight",
    "before_spending": "preflight",
}
#: Texts that are sent to models, simulate their replies, or list words to recognise in replies.
SENT = ("prompts.py", "simulated.py", "wording.py", "lexicon.py", "phrases.py", "refusals.py", "policies.py")
SQL = re.compile(r"\b(?:as said|select|insert into|create table|left join|from \w+ as)\b")
CODE = [
    path
    for top in ("metacog_pipeline", "assets")
    for path in sorted((ROOT / top).rglob("*.py"))
    if "_shipped" not in path.parts
]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text; paragraphs, list items and table cells end one."""
    text = re.sub(r"(?ms)^```.*?^```|<!--.*?-->|!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(`+).*?\1", "x", text, flags=re.DOTALL)
    for block in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) |\||\n#+ |\n(?=--)", text):
        yield from re.split(r"(?<=[.!?:;])\s+", " ".join(block.split()))


def in_prose(text: str, *, long: bool = True) -> list[str]:
    """Return the findings in a text: its odd words, and its sentences that are too long."""
    found: list[str] = []
    for sentence in sentences(text):
        found += [f"{word}: {sentence[:90]}" for word in WORD.findall(sentence)]
        if long and len(sentence.split()) > MOST_WORDS:
            found.append(f"{len(sentence.split())} words: {sentence[:90]}")
    return found


def names_of(node: ast.AST) -> list[str]:
    """Return the names that a node of Python uses or gives; keys in files on disk are texts and keep theirs."""
    fields = ("id", "attr", "arg", "name")
    return [name for each in fields if isinstance(name := getattr(node, each, None), str)]


def in_code(path: Path) -> list[str]:
    """Return the findings in first lines of docstrings, in messages and in names of a Python file."""
    source = path.read_text("utf-8")
    found, docstrings = [], set()
    for node in ast.walk(tree := ast.parse(source)):
        found += [f"{name}: use {RENAMED[name]}" for name in names_of(node) if name in RENAMED]
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                docstrings.add(id(first.value))
                found += in_prose(first.value.value.strip().split("\n\n")[0])
    if path.name not in SENT:
        texts = (
            node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings
        )
        for node in texts:
            if isinstance(node.value, str) and len(node.value.split()) >= 3 and not SQL.search(node.value):
                found += in_prose(node.value, long=False)
    return found


@cache
def findings() -> dict[str, list[str]]:
    """Return the findings of every file that has some."""
    found = {path: in_prose(path.read_text("utf-8")) for path in PAGES} | {
        path: in_code(path) for path in CODE
    }
    for path in sorted((ROOT / "metacog_pipeline").rglob("*.toml")):
        found[path] = in_prose(path.read_text("utf-8"), long=False)
    for path in sorted((ROOT / "dbt_like_sql").rglob("*.sql")):
        comments = re.findall(r"^--(.*)", path.read_text("utf-8"), re.MULTILINE)
        found[path] = in_prose("\n".join(comments), long=False)
    return {path.relative_to(ROOT).as_posix(): own for path, own in found.items() if own}


@cache
def left() -> dict[str, int]:
    """Return the number of findings that a file may still have."""
    with LEFT.open(encoding="utf-8", newline="") as file:
        return {row["file"]: int(row["findings"]) for row in csv.DictReader(file)}


def test_texts_use_plain_words_and_short_sentences():
    more = {name: own for name, own in findings().items() if len(own) > left().get(name, 0)}
    assert not more


def helps(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    texts = [command.help or "", *(getattr(param, "help", None) or "" for param in command.params)]
    yield " ".join(path), "\n\n".join(texts)
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), name)
            assert found is not None
            yield from helps(found, (*path, name))


def test_help_texts_use_plain_words_and_short_sentences():
    found = {name: own for name, text in helps(cli, ("metacog",)) if (own := in_prose(text))}
    assert {name: own for name, own in found.items() if len(own) > left().get(name, 0)} == {}


@every(
    ("text", "n"),
    [
        ("What stands behind it.", 2),
        ("A table of tests.", 0),
        ("`stands` is a name; see [the page](x.md).", 0),
        (" ".join(["word"] * 36) + ".", 1),
        ("\n".join(["| " + " ".join(["word"] * 20) + " | " + " ".join(["word"] * 20) + " |"]), 0),
    ],
)
def test_the_check_finds_odd_words_and_long_sentences(text, n):
    assert len(in_prose(text)) == n


if __name__ == "__main__":
    found = findings() | {name: own for name, text in helps(cli, ("metacog",)) if (own := in_prose(text))}
    if "--left" in sys.argv:
        print("file,findings", *(f"{name},{len(own)}" for name, own in sorted(found.items())), sep="\n")
    else:
        print(*(f"{name}\n  " + "\n  ".join(own) for name, own in sorted(found.items())), sep="\n")
