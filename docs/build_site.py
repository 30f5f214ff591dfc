"""Build the documentation site: the pages of this folder and a reference generated from the code.

``python docs/build_site.py`` writes ``build/site``. It needs the extra ``docs`` and no network, neither now nor in the
browser. The README is the first page; commands, keys, tables, measures and functions come from the code.
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

import site_reference  # noqa: E402 - in this folder

PAGES, SITE, CONFIG = ROOT / "build" / "site-pages", ROOT / "build" / "site", ROOT / "build" / "zensical.toml"
BENCHMARKS = {
    "MetaMedQA": "metamedqa",
    "Signal detection": "signaldetection",
    "MEDLEY-BENCH": "medley",
    "MetaCog-Bench": "metacogbench",
    "Self-knowledge": "selfknowledge",
    "Your own questions": "questions",
}

#: Title and file of every page; a test fails where the folder has another page.
NAVIGATION: dict[str, dict[str, str]] = {
    "Start": {"metacog_pipeline": "index.md", "Tutorial": "tutorial.md"},
    "Guides": {
        "The study file": "study.md",
        "Reading the boards": "boards.md",
        "Importing": "importing.md",
        "A benchmark of your own": "own_benchmark.md",
        "Scaling out": "scaling.md",
        "Training": "training.md",
    },
    "Benchmarks": {title: f"benchmarks/{name}/README.md" for title, name in BENCHMARKS.items()},
    "Design": {
        "Asking, money and answers": "design/asking.md",
        "Reading replies": "design/reading.md",
        "Statistics": "design/statistics.md",
        "Publishing": "design/publishing.md",
        "Speed and memory": "performance.md",
        "Reliability": "reliability.md",
    },
    "Reference": {
        "Commands": "reference/commands.md",
        "Study keys": "reference/keys.md",
        "Tables": "reference/tables.md",
        "Measures": "reference/measures.md",
        "Questions and tests": "reference/tests.md",
        "As in the papers": "reference/papers.md",
        "Python": "reference/python.md",
        "Functions of statistics": "reference/statistics.md",
        "Changes": "repository/CHANGELOG.md",
    },
}
_LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
_FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)


def assemble(pages: Path) -> None:
    """Write every page of the site into the empty folder ``pages``."""
    shutil.rmtree(pages, ignore_errors=True)
    for source in sorted(DOCS.rglob("*")):
        if source.is_file() and source.suffix in (".md", ".svg", ".png", ".ipynb"):
            _copy(source, pages / source.relative_to(DOCS), pages)
    _copy(ROOT / "README.md", pages / "index.md", pages)
    _copy(ROOT / "CHANGELOG.md", pages / "repository" / "CHANGELOG.md", pages)
    for name, text in site_reference.pages().items():
        target = pages / "reference" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def _copy(source: Path, target: Path, pages: Path) -> None:
    """Copy a page with its links rewritten for the site; files of the repository that it links to are copied too."""
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
    """Return the path of a repository file on the site; a file that is no page is copied there."""
    if found == ROOT / "README.md":
        return pages / "index.md"
    if found.is_relative_to(DOCS):
        return pages / found.relative_to(DOCS)
    target = pages / "repository" / found.relative_to(ROOT)
    if not target.suffix:
        target = target.with_suffix(".txt")
    if not target.exists():
        _copy(found, target, pages)
    return target


def _relative(path: Path, page: Path) -> str:
    up = 0
    folder = page.parent
    while not path.is_relative_to(folder):
        folder, up = folder.parent, up + 1
    return "../" * up + path.relative_to(folder).as_posix()


def configuration() -> str:
    """Return the settings of the site; it loads nothing from other addresses."""

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
