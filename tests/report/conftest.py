"""A study home with a leaderboard, made of a few synthetic Parquet files."""

import functools
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from tests import homes

_KEPT = tempfile.TemporaryDirectory(prefix="metacog-report-")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
CONDITIONS = ("confidence", "risk_s1", "risk_none", "risk_s2")


def write(home: Home, pattern: str, rows: Sequence[Mapping[str, object]], name: str = "all") -> None:
    homes.write(home, pattern.replace("**/", "").replace("*", name), rows)


KEY = {"benchmark": "signaldetection", "dataset": "published", "task": "A"}


def estimates(model: str, source: str, conditions: Sequence[str]) -> list[dict[str, object]]:
    counts = {"n": 100, "n_failed": 0, "n_unreadable": 0, "coverage": 1.0, "status": "ok", "method": "raw"}
    values = {"d": 2.0, "c": 0.25, "meta_d": 1.5, "m_ratio": 0.75, "accuracy": 0.8, "coverage": 1.0}
    found = []
    for condition in conditions:
        # The shift below is the difference of these criteria.
        for measure, value in (values | ({"c": -0.25} if condition == "risk_s1" else {})).items():
            if condition == "confidence" or measure in ("d", "c", "accuracy", "coverage"):
                ends = {"low": value - 0.125, "high": value + 0.125} if measure != "coverage" else {}
                row = {"model": model, "source": source, "condition": f"A {condition}", "measure": measure}
                found.append({**KEY, **counts, **ends, **row, "estimate": value})
    return found


def shift(model: str, source: str) -> dict[str, object]:
    return {
        **KEY, "source": source, "model": model, "family": "criterion_z", "measure": "c", "a": "risk_none", "b": "risk_s1",
        "value": 0.5, "low_adjusted": 0.25, "high_adjusted": 0.75, "statistic": 6.5, "p_adjusted": 1e-9,
        "verdict": "inconclusive", "n": 200, "status": "ok",
    }  # fmt: skip


def made_home(
    home: Home,
    models: Mapping[str, str] | None = None,
    *,
    benchmark: str = "signaldetection",
    conditions: Sequence[str] = CONDITIONS,
    silent: bool = False,
) -> Home:
    """Give ``home`` the models {name: source} and its board, return its path."""
    sources = models if models is not None else {"alpha": "measured"}
    kept = _built(tuple(sources.items()), benchmark, tuple(conditions), silent)
    return Home(shutil.copytree(kept.path, home.path, dirs_exist_ok=True))


@functools.cache
def _built(
    models: tuple[tuple[str, str], ...], benchmark: str, conditions: Sequence[str], silent: bool
) -> Home:
    """Make a home with its board, once for all tests that take a copy."""
    home, sources = Home(Path(tempfile.mkdtemp(dir=_KEPT.name))), dict(models)
    status = {"state": "missing" if silent else "complete", "n_expected": 10, "n_answered": 0, "n_failed": 0}
    listed = homes.rows("model source", *sources.items(), provider="openai", listed=True, runs=1)
    write(home, "study/models.parquet", listed)
    partitions = [{"benchmark": benchmark, "model": name, "run": 1, **status} for name in sources]
    write(home, "study/partitions.parquet", partitions)
    if not silent:
        scored = [row for name, source in sources.items() for row in estimates(name, source, conditions)]
        write(home, "estimates/signaldetection/models/*.parquet", scored)
        shifts = [shift(name, source) for name, source in sources.items()]
        write(home, "estimates/signaldetection/comparisons/*.parquet", shifts)
    homes.print_numbers(home, benchmark, claims=benchmark != "signaldetection")  # its fits take long
    build(home)
    return home


@pytest.fixture
def make_home(tmp_path):
    """Return ``make_home(models={name: source}, benchmark=…)``, which writes a home, builds its board, returns its path."""
    return functools.partial(made_home, Home(tmp_path / "home"))


@pytest.fixture(name="write")
def _write():
    """Return ``write(home, pattern, rows)``, which fills one dataset of a home."""
    return write


def compared(a: str, b: str, source: str = "measured", **other: object) -> dict[str, object]:
    """Return a test of two models, as the table comparisons has it."""
    return {
        **KEY, "condition": "A confidence", "source": source, "family": "models_paired", "measure": "m_ratio",
        "a": a, "b": b, "value": 0.5, "low": 0.25, "high": 0.75, "p": 0.001, "p_adjusted": 0.002, "n": 90,
        "verdict": "significant", "status": "ok", "primary": True, **other,
    }  # fmt: skip


VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """A page as a browser reads it: tags with their attributes, and texts; an unclosed tag is an error."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert self.open == []

    @property
    def names(self) -> set[str]:
        return {tag for tag, _ in self.tags}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") for name, _ in attrs), (tag, attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (dev extra)")
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser found ({', '.join(BROWSERS)}); install chromium to run this test")
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield made
        made.close()


def serious_violations(page: Any) -> list[str]:
    """Return what keeps people with a keyboard or a screen reader from using a page."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed (dev extra)"
    )
    found = axe.Axe().run(page).response["violations"]
    return [each["id"] for each in found if each["impact"] in ("serious", "critical")]
