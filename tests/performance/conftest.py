"""Every measurement of ``make bench`` in one table: ``bench-results/results.md`` and ``results.json``."""

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

import pytest

RESULTS = Path("bench-results")
HERE = "tests/performance/"
FIGURE = "figure"
COLUMNS = ("what", "target", "measured", "met")
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


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect the figures of a test; one that was skipped or failed without any has a row that says so."""
    if not report.nodeid.startswith(HERE) or "bench" not in report.keywords:
        return
    if report.when != "call" and report.outcome == "passed":
        return
    figures = [value for name, value in report.user_properties if name == FIGURE]
    if not figures:
        said = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.capstdout
        met = {"passed": "yes", "skipped": "not measured"}.get(report.outcome, "NO")
        name = report.nodeid.partition("::")[2].removeprefix("test_").replace("_", " ")
        measured = " ".join(said.split()).replace("|", "/")
        figures = [{"what": name, "target": "", "measured": measured, "met": met}]
    _rows.extend(figures)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the table."""
    if not _rows:
        return
    about = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine()}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "results.json").write_text(json.dumps({**about, "rows": _rows}, indent=2) + "\n")
    table = [COLUMNS, ("---",) * len(COLUMNS), *([row[name] for name in COLUMNS] for row in _rows)]
    lines = [f"Measured {about['date']} on {about['machine']}.", ""]
    lines += ["| " + " | ".join(row) + " |" for row in table]
    (RESULTS / "results.md").write_text("\n".join(lines) + "\n")
    terminalreporter.section("benchmarks")
    for line in [*lines, f"written to {RESULTS}/results.md and results.json"]:
        terminalreporter.write_line(line)


def machine() -> str:
    """Name the processor, its cores, the load before, the system and Python."""
    model, info = platform.machine(), Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return (
        f"{model}, {os.cpu_count()} cores, load {os.getloadavg()[2]:.1f} (15 minutes), {platform.system()} "
        f"{platform.release()}, Python {platform.python_version()}"
    )
