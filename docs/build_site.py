"""Build the documentation site: the pages of this folder, a reference made from the code, one static site.

``python docs/build_site.py`` writes ``build/site``. It needs the extra ``docs`` and no network, neither now nor in the
browser. Nothing here is written twice: the README is the first page, and keys, measures and functions come from the code.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS)]

import site_reference  # noqa: E402 - beside this file

PAGES, SITE, CONFIG = ROOT / "build" / "site-pages", ROOT / "build" / "site", ROOT / "build" / "zensical.toml"
BENCHMARKS = {
    "MetaMedQA": "metamedqa",
    "Signal detection": "signaldetection",
    "MEDLEY-BENCH": "medley",
    "MetaCog-Bench": "metacogbench",
    "Self-knowledge": "selfknowledge",
    "Your own questions": "questions",
}

#: What stands where; a page that is in the folder and not here, or the other way round, fails a test.
NAVIGATION: dict[str, dict[str, str]] = {
    "Start": {"metacog_pipeline": "index.md", "Tutorial": "tutorial.md"},
    "How to": {
        "Write a study": "study.md",
        "Add a model": "models.md",
        "Pay half": "batches.md",
        "Import answers": "importing.md",
        "Export and reproduce": "exporting.md",
        "From a laptop to a cluster": "cluster.md",
        "Use the Dagster UI": "ui.md",
        "Read the report": "report.md",
        "Ask the results": "queries.md",
        "Fit a table of trials": "fit.md",
        "Train a model": "training.md",
        "Add a benchmark": "own_benchmark.md",
    },
    "Reference": {
        "Commands": "commands.md",
        "Study keys": "reference/keys.md",
        "Tables": "dictionary.md",
        "Measures": "reference/measures.md",
        "As in the papers": "reference/papers.md",
        "Python": "reference/python.md",
        "Statistics": "reference/statistics.md",
    },
    "Explanation": {
        **{title: f"benchmarks/{name}/README.md" for title, name in BENCHMARKS.items()},
        "Comparisons": "comparisons.md",
        "Reliability": "reliability.md",
        "meta-d′": "metad.md",
        "Resampling": "design/resampling.md",
        "Statistics": "design/statistics.md",
        "Asking and money": "design/asking.md",
        "Reading replies": "design/reading.md",
        "Keeping answers": "design/answers.md",
        "Publishing": "design/publishing.md",
        "Speed and memory": "performance.md",
        "Changes": "repository/CHANGELOG.md",
    },
}
_LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
_FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)


def assemble(pages: Path) -> None:
    """Write every page of the site into the empty folder ``pages``."""
    shutil.rmtree(pages, ignore_errors=True)
    for source in sorted(DOCS.rglob("*")):
        if source.is_file() and source.suffix in (".md", ".svg", ".ipynb"):
            _copy(source, pages / source.relative_to(DOCS), pages)
    _copy(ROOT / "README.md", pages / "index.md", pages)
    _copy(ROOT / "CHANGELOG.md", pages / "repository" / "CHANGELOG.md", pages)
    for name, text in site_reference.pages().items():
        target = pages / "reference" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def _copy(source: Path, target: Path, pages: Path) -> None:
    """Copy a page; its links lead to where other pages are on the site, and what lies outside comes along."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix != ".md":
        shutil.copyfile(source, target)
        return

    def placed(match: re.Match[str]) -> str:
        path, mark, anchor = match[1].partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return match[1]
        found = (source.parent / path).resolve()
        if found == DOCS / "benchmarks":  # a folder is no page: the first of its pages
            found /= "metamedqa/README.md"
        return _relative(_on_site(found, pages), target) + mark + anchor

    parts = _FENCE.split(source.read_text(encoding="utf-8"))
    text = "".join(part if part.startswith("```") else _LINK.sub(placed, part) for part in parts)
    target.write_text(text, encoding="utf-8")


def _on_site(found: Path, pages: Path) -> Path:
    """Where a file of the repository stands on the site; one that is no page is copied."""
    if found == ROOT / "README.md":
        return pages / "index.md"
    if found.is_relative_to(DOCS):
        return pages / found.relative_to(DOCS)
    beside = pages / "repository" / found.relative_to(ROOT)
    if not beside.suffix:
        beside = beside.with_suffix(".txt")
    if not beside.exists():
        _copy(found, beside, pages) if found.suffix == ".md" else _bring(found, beside)
    return beside


def _bring(found: Path, beside: Path) -> None:
    beside.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(found, beside)


def _relative(path: Path, page: Path) -> str:
    up = 0
    folder = page.parent
    while not path.is_relative_to(folder):
        folder, up = folder.parent, up + 1
    return "../" * up + path.relative_to(folder).as_posix()


def configuration() -> str:
    """Return the settings of the site: nothing of it is loaded from anywhere else."""

    def entries(pages: dict[str, str]) -> Iterator[str]:
        for title, page in pages.items():
            yield f"{{ {json.dumps(title, ensure_ascii=False)} = {json.dumps(page)} }}"

    sections = ",\n".join(
        f"  {{ {json.dumps(title)} = [{', '.join(entries(pages))}] }}" for title, pages in NAVIGATION.items()
    )
    return f"""[project]
site_name = "metacog_pipeline"
site_description = "What language models know about what they know"
docs_dir = {json.dumps(PAGES.name)}
site_dir = {json.dumps(SITE.name)}
use_directory_urls = false
nav = [
{sections}
]
[project.theme]
language = "en"
font = false
features = ["content.code.copy", "navigation.sections", "navigation.top", "search.highlight", "toc.follow"]
[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
[project.markdown_extensions]
attr_list = {{}}
md_in_html = {{}}
tables = {{}}
toc.permalink = true
pymdownx.highlight.pygments_lang_class = true
pymdownx.superfences = {{}}
"""


def build() -> int:
    """Build the site; return the exit code of the program that renders it."""
    assemble(PAGES)
    CONFIG.write_text(configuration(), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", str(CONFIG)]
    done = subprocess.run(command, cwd=CONFIG.parent, check=False)
    if done.returncode == 0:
        print(f"{SITE / 'index.html'}: open it in a browser")
    return done.returncode


if __name__ == "__main__":
    sys.exit(build())
