"""Every measurement of ``make bench`` in one table: ``bench-results/results.md`` and ``results.json``.

A benchmark hands its figure to the ``figure`` fixture. One that only prints gets a row with what it printed.
"""

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.performance.peers import installed_peer

RESULTS = Path("bench-results")
HERE = "tests/performance/"
FIGURE = "figure"
UNNAMED = "its own"
# What was installed has its bytecode beside it. Where writing any is forbidden, every process started here would compile
# the clone anew, and no peer.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

_rows: list[dict[str, str]] = []


@pytest.fixture
def figure(request):
    """Note a figure: what was measured, the target, what came out, whether the target is met. A miss fails the test."""

    def note(what: str, target: str, measured: str, met: bool) -> None:
        row = {"what": what, "target": target, "measured": measured, "met": "yes" if met else "NO"}
        request.node.user_properties.append((FIGURE, row))
        print(f"\n{what}: {measured} (target {target})")
        assert met, f"{what}: {measured}, target {target}"

    return note


@pytest.fixture(scope="session")
def peer_python():
    """Return the interpreter of an environment that has the newest release of the peer."""
    return installed_peer()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if not report.nodeid.startswith(HERE) or "bench" not in report.keywords:
        return
    if report.when != "call" and report.outcome == "passed":
        return
    figures: list[Any] = [value for name, value in report.user_properties if name == FIGURE]
    name = report.nodeid.removeprefix(HERE)
    for row in figures:
        _rows.append({**row, "test": name})
    if not figures:
        met = {"passed": "yes", "skipped": "not measured"}.get(report.outcome, "NO")
        said = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.capstdout
        target = UNNAMED
        words = name.partition("::")[2].removeprefix("test_").replace("_", " ")
        _rows.append(
            {
                "what": words,
                "target": target,
                "measured": _flat(said),
                "met": met,
                "test": name,
            }
        )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _rows:
        return
    rows = sorted(_rows, key=lambda row: (row["target"] == UNNAMED, row["test"]))
    about = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine()}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "results.json").write_text(json.dumps({**about, "rows": rows}, indent=2) + "\n")
    lines = [f"Measured {about['date']} on {about['machine']}.", "", *table(rows)]
    (RESULTS / "results.md").write_text("\n".join(lines) + "\n")
    terminalreporter.section("benchmarks")
    for line in lines:
        terminalreporter.write_line(line)
    terminalreporter.write_line(f"written to {RESULTS}/results.md and results.json")


def table(rows: list[dict[str, str]]) -> list[str]:
    """Return the rows as a Markdown table."""
    columns = ("what", "target", "measured", "met")
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    return lines + ["| " + " | ".join(row[column] for column in columns) + " |" for row in rows]


def machine() -> str:
    """Name the processor, its cores, the load before, the system and Python."""
    model = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    load = os.getloadavg()[2]
    return (
        f"{model}, {os.cpu_count()} cores, load {load:.1f} (15 minutes), {platform.system()} "
        f"{platform.release()}, Python {platform.python_version()}"
    )


def _flat(text: str) -> str:
    return "; ".join(line.strip() for line in text.splitlines() if line.strip()).replace("|", "/")
