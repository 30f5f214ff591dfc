"""The documentation site: every page is in it, the reference is that of the code, nothing is loaded from elsewhere."""

import importlib.util
import inspect
import re
import shlex
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import click
import pytest

import metacog_pipeline as mp
from metacog_pipeline import registry
from metacog_pipeline.cli import cli
from metacog_pipeline.leaderboard.glossary import declared_measures
from metacog_pipeline.leaderboard.sql_folder import load_project
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.scoring.comparisons import questions_of
from metacog_pipeline.study import load_study
from tests.tables import every

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


site_reference = load("site_reference")
build_site = load("build_site")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("site") / "pages"
    build_site.assemble(folder)
    return folder


def test_every_page_is_in_the_navigation_once(pages):
    listed = [page for section in build_site.NAVIGATION.values() for page in section.values()]
    assert len(listed) == len(set(listed))
    made = {str(page.relative_to(pages)) for page in pages.rglob("*.md")}
    assert made - {page for page in made if page.startswith("repository/")} <= set(listed) <= made


def test_every_row_of_a_table_stands_below_a_head_with_as_many_cells(pages):
    for page in sorted(pages.rglob("*.md")):
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for block in re.findall(r"(?:^\|.*\n)+", text + "\n", re.MULTILINE):
            rows = block.splitlines()
            said = f"{page.relative_to(pages)}: {rows[0]}"
            assert len(rows) > 1 and re.fullmatch(r"[|: -]+", rows[1]), f"no table begins with {said}"
            cells = {len(re.split(r"(?<!\\)\|", re.sub(r"(`+).*?\1", "", row))) for row in rows}
            assert len(cells) == 1, said


def test_the_reference_has_every_key_measure_and_function(pages):
    keys = (pages / "reference/keys.md").read_text("utf-8")
    for name in registry.names():
        for key in registry.part(name, "Settings").model_fields:
            assert f"| `{key}` |" in keys.partition(f"## `[benchmarks.{name}]`")[2].partition("\n## ")[0]
    assert all(f"| `{key}` |" in keys for key in ModelSpec.model_fields)
    measures = (pages / "reference/measures.md").read_text("utf-8")
    for _, measure, *_ in declared_measures(registry.names()):
        assert f"| `{measure}` |" in measures
    python = (pages / "reference/python.md").read_text("utf-8")
    for name, _ in inspect.getmembers(mp.OpenStudy, inspect.isfunction):
        assert name.startswith("_") or f"### `study.{name}`" in python
    statistics = (pages / "reference/statistics.md").read_text("utf-8")
    for name in ("ece", "fit_metad", "proportion", "wilson_interval", "holm"):
        assert f"### `{name}`" in statistics
    assert "another value" not in keys


def test_the_reference_has_every_command_table_and_test(pages):
    commands_page = (pages / "reference/commands.md").read_text("utf-8")
    for name in cli.list_commands(click.Context(cli)):
        assert f"## `metacog {name}`" in commands_page
    assert "Usage: metacog run [OPTIONS] STUDY" in commands_page
    tables = (pages / "reference/tables.md").read_text("utf-8")
    for model in load_project().models:
        assert f"\n## {model.name if model.schema == 'main' else f'{model.schema}.{model.name}'}\n" in tables
    tests = (pages / "reference/tests.md").read_text("utf-8")
    for name in registry.names():
        for question in questions_of(registry.load(name)):
            family, measure = question.primary
            assert f"| {question.asks} | `{family}` of `{measure}` |" in tests


def test_a_docstring_becomes_markdown():
    text = (
        "Return ``x``.\n\nParameters\n----------\nn\n    Of items,\n    above 0.\n\nExamples\n--------\n>>> f(1)\n2\n\n"
        "====  =======\na     one <b>\n      more\n====  =======\n"
    )
    assert site_reference.prose(text) == (
        "Return `x`.\n\n**Parameters**\n\n- n: Of items, above 0.\n\n**Examples**\n\n```pycon\n>>> f(1)\n2\n```\n\n"
        "| | |\n| --- | --- |\n| a | one &lt;b> more |"
    )


class Links(HTMLParser):
    """What a page loads, where it leads, and its anchors."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(given.get("href", ""))
        elif "src" in given:
            self.loaded.append(given["src"])


@pytest.mark.skipif(
    importlib.util.find_spec("zensical") is None,
    reason="the extra docs is not installed: pip install '.[docs]'",
)
def test_the_site_is_built_strictly_loads_nothing_from_elsewhere_and_its_links_lead_somewhere(
    tmp_path, monkeypatch
):
    for name, value in (("PAGES", "site-pages"), ("SITE", "site"), ("CONFIG", "zensical.toml")):
        monkeypatch.setattr(build_site, name, tmp_path / value)
    assert build_site.build() == 0
    found = {page: Links(page) for page in (tmp_path / "site").rglob("*.html") if page.name != "404.html"}
    assert len(found) > 30
    for page, links in found.items():
        assert not [each for each in links.loaded if urlsplit(each).netloc or each.startswith("//")], page
        for link in links.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), (page.name, link)
            if parts.fragment and target.suffix == ".html":
                assert unquote(parts.fragment) in found[target].anchors, (page.name, link)


def commands(page: Path) -> list[str]:
    """Every command line in the code blocks of a page, continued lines joined."""
    blocks = re.findall(
        r"^```(?:bash|console|sh)?\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("metacog ")]


@every("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_option_on_a_page_exists(page):
    for line in commands(page):
        words = shlex.split(line, comments=True)[1:]
        command: click.Command = cli
        context = click.Context(cli, info_name="metacog")
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            found = command.get_command(context, words.pop(0))
            assert found is not None, line
            command, context = found, click.Context(found, parent=context)
        known = {
            name for param in command.get_params(context) for name in (*param.opts, *param.secondary_opts)
        }
        used = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert used <= known, line


def test_python_in_the_pages_is_python():
    for page in PAGES:
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            compile(block, str(page), "exec")


def test_toml_in_the_pages_is_toml_and_a_whole_study_is_a_study(tmp_path):
    studies = 0
    for page in PAGES:
        for block in re.findall(r"^```toml\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            found = tomllib.loads(block)
            if {"study", "models", "benchmarks"} <= set(found):
                (tmp_path / "study.toml").write_text(block, encoding="utf-8")
                assert load_study(tmp_path / "study.toml").enabled
                studies += 1
    assert studies >= 2


def test_every_benchmark_credits_the_authors_of_its_paper():
    cited = (ROOT / "CITATION.cff").read_text("utf-8").split("  - type: ")[1:]
    for name in (each for each in registry.names() if registry.load(each).paper.url):
        found = registry.load(name)
        title, authors = found.title.split(" (")[0].lower(), found.paper.authors
        reference = next(each for each in cited if title in each.lower())
        families = re.findall(r"family-names: (.+)", reference)
        whole = re.findall(r"family-names: (.+)\n +given-names: (.+)", reference)
        named = [f"{given} {family}" for family, given in whole]
        assert named == (authors.split(", ") if families else [])
        page = (DOCS / "benchmarks" / name / "README.md").read_text("utf-8")
        assert authors and (families or "Anonymous" in reference), name
        assert all(family in page and family in authors for family in families), name


def test_the_page_builder_runs_as_a_program_without_the_program_that_renders(tmp_path):
    command = [sys.executable, "-c", "import build_site; print(build_site.configuration())"]
    alone = {"cwd": tmp_path, "env": {"PYTHONPATH": str(DOCS), "PATH": "/usr/bin:/bin"}, "timeout": 60}
    done = subprocess.run(command, capture_output=True, text=True, check=False, **alone)
    assert "font = false" in done.stdout, done.stderr
