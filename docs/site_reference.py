"""Reference pages, generated from the code: commands, study keys, tables, measures, tests, Python, statistics."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import duckdb
from click.testing import CliRunner
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticUndefined

import metacog_pipeline as mp
from metacog_pipeline import errors, registry, stats
from metacog_pipeline.benchmarks.selfknowledge.training.settings import TrainingSection
from metacog_pipeline.cli import cli
from metacog_pipeline.deploy import DeploySection
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.datasets import MEASURES
from metacog_pipeline.leaderboard.glossary import declared_measures
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.scoring.comparisons import questions_of
from metacog_pipeline.scoring.harmonised import PREFIX
from metacog_pipeline.stats import exact
from metacog_pipeline.study.allowed import as_written
from metacog_pipeline.study.study_file import StudySection

_RULE = re.compile(r"\s*=+( +=+)+\s*")
_UNDERLINED = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def pages() -> dict[str, str]:
    """Return the text of every generated page by its file name."""
    return {
        "commands.md": commands(),
        "keys.md": keys(),
        "tables.md": tables(),
        "measures.md": measures(),
        "tests.md": tests(),
        "papers.md": papers(),
        "python.md": python(),
        "statistics.md": statistics(),
    }


COMMANDS = """# Commands

Every command prints one line on an error: what is wrong, which value, where, and what to do. Results go to standard
output, progress goes to standard error. With `--json` a command prints one JSON value and nothing else; a table is a list
of objects, one per row.

The shell completes commands, options and values after one line in its start file:

| shell | file | line |
| --- | --- | --- |
| bash 4.4 or newer | `~/.bashrc` | `eval "$(_METACOG_COMPLETE=bash_source metacog)"` |
| zsh | `~/.zshrc` | `eval "$(_METACOG_COMPLETE=zsh_source metacog)"` |
| fish | `~/.config/fish/completions/metacog.fish` | `_METACOG_COMPLETE=fish_source metacog \\| source` |"""


def commands() -> str:
    """Return the help text of every command."""
    found = [COMMANDS]
    for path in _paths(cli, ("metacog",)):
        shown = CliRunner().invoke(cli, [*path[1:], "--help"], prog_name=path[0], max_content_width=100)
        found += [f"## `{' '.join(path)}`", f"```\n{shown.output.rstrip()}\n```"]
    return "\n\n".join(found) + "\n"


def _paths(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield path
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _paths(command, (*path, name))
        else:
            yield (*path, name)


def tables() -> str:
    """Return every table and column of the leaderboard file, from the comments in one that is built without answers."""
    found = [
        "# Tables",
        "Tables and columns of `leaderboard.duckdb`, with the comments they have in the file. Tables of a benchmark's own "
        "responses have further columns where the benchmark runs; `describe TABLE` lists them.",
    ]
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        build(home)
        with duckdb.connect(str(home.leaderboard), read_only=True) as connection:
            made = connection.execute(_TABLES).fetchall()
            described = connection.execute(_COLUMNS).fetchall()
    for schema, table, comment in made:
        own = [each[2:] for each in described if each[:2] == (schema, table)]
        name = table if schema == "main" else f"{schema}.{table}"
        rows = [f"| `{column}` | {kind.lower()} | {_cell(meaning or '')} |" for column, kind, meaning in own]
        found += [
            f"## {name}",
            _inline(comment or ""),
            "\n".join(["| column | type | meaning |", "| --- | --- | --- |", *rows]),
        ]
    return "\n\n".join(found) + "\n"


_TABLES = (
    "select schema_name, table_name, comment from duckdb_tables() where not internal "
    "order by schema_name = 'main' desc, table_name"
)
_COLUMNS = (
    "select schema_name, table_name, column_name, data_type, comment from duckdb_columns() where not internal "
    "order by table_name, column_index"
)


def tests() -> str:
    """Return the questions every benchmark asks of its tests: one primary test each, and the secondary ones."""
    found = [
        "# Questions and tests",
        "Each benchmark names the test that answers a question before anything is asked. Its rows in `comparisons` have "
        '`"primary" = true`. Secondary tests show how far the answer depends on the way of testing. '
        "[Statistics](../design/statistics.md) explains families, corrections and the least n.",
    ]
    least = {"items": f"{exact.LEAST_ITEMS} items", "models": f"{exact.LEAST_MODELS} models"}
    for name in registry.names():
        lines = [
            "| question | primary test | secondary tests | least n for a verdict |",
            "| --- | --- | --- | --- |",
        ]
        for each in questions_of(registry.load(name)):
            family, measure = each.primary
            others = ", ".join(f"`{other}`" for other in each.secondary) or "-"
            lines.append(f"| {each.asks} | `{family}` of `{measure}` | {others} | {least[each.unit]} |")
        found += [f"## {registry.load(name).title}", "\n".join(lines)]
    return "\n\n".join(found) + "\n"


def papers() -> str:
    """Every figure, table and analysis of the five papers: what it shows, and whether it is shown again."""
    found = [
        "# As in the papers",
        "A report has one page per paper. It shows every entry below whose numbers are known, the printed ones and the "
        "study's own, and computes printed numbers again from the numbers printed with them.",
    ]
    for name in registry.names():
        benchmark = registry.load(name)
        if exhibits := benchmark.exhibits():
            head = "| number | shows | status | from | why |\n| --- | --- | --- | --- | --- |"
            body = [f"| {e.number} | {e.title} | {e.status} | {e.data} | {e.why} |" for e in exhibits]
            found += [
                f"## {name}",
                f"{benchmark.paper.title} ({benchmark.paper.where}).",
                "\n".join([head, *body]),
            ]
    return "\n\n".join(found) + "\n"


def keys() -> str:
    """Every key of a study file: what it may be and its default."""
    found = [
        "# Study keys",
        "Every key there is, as the program checks it. [The study file](../study.md) explains them.",
    ]
    tables: dict[str, type[BaseModel]] = {
        "[study]": StudySection,
        "[[models]], [[judges]]": ModelSpec,
        "observer = { … }": ObserverSpec,
        **{f"[benchmarks.{name}]": registry.part(name, "Settings") for name in registry.names()},
        "[training]": TrainingSection,
        "[deploy]": DeploySection,
    }
    for title, model in tables.items():
        found += [f"## `{title}`", prose(inspect.getdoc(model) or ""), _key_table(model)]
    return "\n\n".join(found) + "\n"


def _key_table(model: type[BaseModel]) -> str:
    lines = ["| key | default | give |", "| --- | --- | --- |"]
    schema = model.model_json_schema(schema_generator=_Lenient)
    for name, field in model.model_fields.items():
        default = "required" if field.is_required() else _default(field)
        allowed = _allowed(schema["properties"][name], schema)
        lines.append(f"| `{name}` | {default} | {_cell(allowed)} |")
    return "\n".join(lines)


class _Lenient(GenerateJsonSchema):
    """Types of other packages that have no JSON schema allow anything here."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  # so in its base

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
        return {}


_PLAIN = {"boolean": "true or false", "integer": "a whole number", "number": "a number", "object": "a table"}
_LIMITS = {
    "minimum": "of {} or more",
    "exclusiveMinimum": "above {}",
    "maximum": "up to {}",
    "exclusiveMaximum": "below {}",
}


def _allowed(node: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """What a node of a JSON schema allows, as in ``a whole number of 1 or more``; its own description wins."""
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    if "description" in node and "properties" not in node:
        return str(node["description"])
    if options := [each for each in node.get("anyOf", ()) if each.get("type") != "null"]:
        return " or ".join(dict.fromkeys(_allowed(each, schema) for each in options))
    if values := node.get("enum", [node["const"]] if "const" in node else []):
        return ("one of " if len(values) > 1 else "") + ", ".join(map(as_written, values))
    if (kind := node.get("type")) == "array":
        return f"a list, each {_allowed(node.get('items', {}), schema)}"
    if kind == "string":
        return "the path of a file or folder" if node.get("format") == "path" else "text"
    limits = [text.format(f"{node[name]:g}") for name, text in _LIMITS.items() if name in node]
    return " ".join([_PLAIN.get(str(kind), "another value"), " and ".join(limits)]).strip()


def _default(field: Any) -> str:
    value = field.get_default(call_default_factory=True)
    if value is None or value is PydanticUndefined:
        return "none"
    if isinstance(value, BaseModel):
        return "its own defaults"
    return f"`{_cell(as_written(json.loads(json.dumps(value, default=str))))}`"


def measures() -> str:
    """Every measure of every benchmark, as its class declares it; those all benchmarks share once, at the end."""
    found = [
        "# Measures",
        "As the benchmarks declare them; the table `measures` of the DuckDB file has the same. Those that begin with "
        "`harmonised_` follow one rule for every benchmark and stand at the end.",
    ]
    shared: dict[str, Mapping[str, Any]] = {}
    for name in registry.names():
        rows = [dict(zip(MEASURES, row, strict=True)) for row in declared_measures([name])]
        shared |= {str(row["measure"]): row for row in rows if str(row["measure"]).startswith(PREFIX)}
        own = [row for row in rows if row["measure"] not in shared]
        found += [f"## {registry.load(name).title}", _measure_table(own)]
    return "\n\n".join([*found, "## By one rule", _measure_table(list(shared.values()))]) + "\n"


def _measure_table(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = ["| measure | meaning | unit and range | source |", "| --- | --- | --- | --- |"]
    for row in rows:
        better = {True: "; more is better", False: "; less is better", None: ""}[row["higher_is_better"]]
        span = f"{row['unit']}, {_end(row['min'])} to {_end(row['max'])}{better}"
        said = (f"`{row['measure']}`", row["definition"] or row["label"], span, row["paper"] or "")
        lines.append("| " + " | ".join(_cell(str(each)) for each in said) + " |")
    return "\n".join(lines)


def _end(value: object) -> str:
    return "any" if value is None else f"{value:g}"


def python() -> str:
    """The functions and methods of ``import metacog_pipeline as mp``."""
    found = ["# Python", prose(inspect.getdoc(importlib.import_module("metacog_pipeline.api")) or "")]
    found += _function("mp.open_study", mp.open_study, "##")
    found += ["## `mp.OpenStudy`", prose(inspect.getdoc(mp.OpenStudy) or "")]
    for name, method in inspect.getmembers(mp.OpenStudy, inspect.isfunction):
        if not name.startswith("_"):
            found += _function(f"study.{name}", method, "###")
    found += ["## Errors", prose(inspect.getdoc(errors) or "")]
    return "\n\n".join(found) + "\n"


def statistics() -> str:
    """Return every public function of the statistics."""
    found = ["# Statistics", prose(inspect.getdoc(stats) or "")]
    for info in sorted(
        pkgutil.walk_packages(stats.__path__, f"{stats.__name__}."), key=lambda each: each.name
    ):
        short = info.name.removeprefix(f"{stats.__name__}.")
        functions = list(documented(importlib.import_module(info.name)))
        if functions:
            found.append(f"## `mp.stats.{short}`")
            found.append(prose(inspect.getdoc(importlib.import_module(info.name)) or ""))
            for name, function in functions:
                found += _function(name, function, "###")
    return "\n\n".join(found) + "\n"


def documented(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the public functions that a module defines."""
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if function.__module__ == module.__name__ and not name.startswith("_"):
            yield name, function


def _function(name: str, function: Any, level: str) -> list[str]:
    signature = str(inspect.signature(function)).replace("(self, ", "(").replace("(self)", "()")
    signature = signature.replace("'", "")
    return [f"{level} `{name}`", f"```python\n{name}{signature}\n```", prose(inspect.getdoc(function) or "")]


def prose(text: str) -> str:
    """Return a docstring as Markdown: sections bold, examples and tables in fences, names in single backticks."""
    blocks = [
        _block(each) for each in re.split(r"\n{2,}", _UNDERLINED.sub(r"\n**\1**\n", text)) if each.strip()
    ]
    return "\n\n".join(blocks)


def _block(text: str) -> str:
    lines = text.strip("\n").splitlines()
    if lines[0].lstrip().startswith(">>>"):
        return "\n".join(["```pycon", *lines, "```"])
    indented = [line.startswith("    ") for line in lines]
    if _RULE.fullmatch(lines[0]):
        return _table(lines)
    if all(indented):
        return "\n".join(["```text", *lines, "```"])
    if not any(indented):
        return _inline("\n".join(lines))
    terms: list[tuple[str, list[str]]] = []
    for line, inside in zip(lines, indented, strict=True):
        if inside and terms:
            terms[-1][1].append(line.strip())
        else:
            terms.append((line, []))
    return "\n".join(
        f"- {_inline(term)}" + (f": {_inline(' '.join(words))}" if words else "") for term, words in terms
    )


def _table(lines: list[str]) -> str:
    """A table of a docstring: two columns between lines of ``=``."""
    rows: list[list[str]] = []
    for line in lines:
        if _RULE.fullmatch(line):
            continue
        name, _, said = line.strip().partition("  ")
        if line.startswith(" ") and rows:
            rows[-1][1] += f" {line.strip()}"
        else:
            rows.append([_inline(name), _inline(said.strip())])
    return "\n".join(
        ["| | |", "| --- | --- |", *(f"| {_cell(name)} | {_cell(said)} |" for name, said in rows)]
    )


def _inline(text: str) -> str:
    return (
        re.sub(r"``(.+?)``", r"`\1`", text).replace("<", "&lt;").replace("*", "\\*").replace("\\*\\*", "**")
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
