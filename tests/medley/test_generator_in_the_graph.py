"""The generator of MEDLEY instances in the graph: launched before the questions are built, and only when it is needed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytestmark = pytest.mark.proof
ROOT = Path(__file__).resolve().parents[2]
STUDY = """
[study]
name = "made"
home = "home"

[[models]]
name = "first"
provider = "simulated"

[benchmarks.medley]
dataset = "{dataset}"
"""
STAGES = [
    "seeds",
    "designs",
    "drafts",
    "opinions",
    "disagreement",
    "consensus",
    "panels",
    "verification",
    "gates",
]


def write(folder: Path, dataset: str = "sample") -> Path:
    path = folder / "study.toml"
    path.write_text(STUDY.format(dataset=dataset), encoding="utf-8")
    return path


def run(study: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from metacog_pipeline.cli import main; main()", *arguments, str(study)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def python(study: Path, code: str) -> Any:
    """Run ``code`` in a process that sees the study; return the JSON it printed last."""
    environment = {
        **os.environ,
        "METACOG_STUDY": str(study),
        "DAGSTER_HOME": str(study.parent / "home" / "dagster"),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A study of the sample, run once."""
    study = write(tmp_path_factory.mktemp("made"))
    done = run(study, "run")
    assert done.returncode == 0, done.stderr
    assert "medley: building the items" in done.stderr
    yield study


def test_the_generator_stands_before_the_items_where_the_study_makes_instances(tmp_path):
    code = (
        "import json; from metacog_assets.definitions import defs\n"
        "graph = defs.resolve_asset_graph()\n"
        "mine = [n for n in map(graph.get, graph.get_all_asset_keys()) if n.group_name == 'medley']\n"
        "mine = [n for n in mine if not n.partitions_def and 'comparisons' not in n.key.path[-1]]\n"
        "found = {n.key.to_user_string(): sorted(d.to_user_string() for d in n.parent_keys) for n in mine}\n"
        "paid = sorted(n.key.to_user_string() for n in mine if n.tags.get('cost') == 'paid')\n"
        "print(json.dumps([found, paid]))"
    )
    found, paid = python(write(tmp_path), code)
    assert set(found) == {f"medley_{stage}" for stage in [*STAGES, "items"]}
    assert "medley_gates" in found["medley_items"]
    assert found["medley_verification"] == ["medley_consensus", "medley_drafts"]
    assert paid == ["medley_designs", "medley_opinions", "medley_verification"]
    found, paid = python(write(tmp_path, "published"), code)
    assert "medley_designs" not in found and not paid


def test_a_finished_generator_is_not_launched_again(made):
    again = run(made, "run")
    assert again.returncode == 0, again.stderr
    assert "everything is up to date; nothing was asked" in again.stderr


def test_only_what_is_stale_is_made_again_and_nobody_is_asked(made):
    home = made.parent / "home"
    before = journals(home)
    (home / "items" / "medley" / "panels.parquet").unlink()
    again = run(made, "run")
    assert again.returncode == 0, again.stderr
    assert "building the items" in again.stderr and "first, run 1" not in again.stderr
    code = (
        "import json; from dagster import AssetKey, DagsterInstance, DagsterEventType\n"
        "instance = DagsterInstance.get(); run = instance.get_runs(limit=9)\n"
        "mine = next(r for r in run if AssetKey('medley_items') in r.asset_selection)\n"
        "print(json.dumps(sorted(k.to_user_string() for k in mine.asset_selection)))"
    )
    assert python(made, code) == ["medley_gates", "medley_items", "medley_panels"]
    assert journals(home) == before


def test_every_check_of_the_generator_was_evaluated_and_only_size_fails(made):
    code = (
        "import json; from dagster import AssetKey, DagsterInstance\n"
        "instance = DagsterInstance.get()\n"
        "key = AssetKey('medley_items')\n"
        "first = next(r for r in reversed(instance.get_runs()) if key in (r.asset_selection or ()))\n"
        "found = [e.dagster_event.event_specific_data for e in instance.all_logs(first.run_id)\n"
        "         if e.dagster_event and e.dagster_event.event_type_value == 'ASSET_CHECK_EVALUATION']\n"
        "print(json.dumps([[f.asset_key.to_user_string(), f.metadata['failed'].value] for f in found]))"
    )
    assert [names for _, names in python(made, code) if names] == ["fit_to_be_released"]


def test_what_making_instances_cost_is_counted_and_nobody_of_the_pool_is_on_the_board(made):
    home = made.parent / "home"
    assert set(pl.read_parquet(home / "study" / "models.parquet")["model"]) == {"first"}
    asked = run_sql(
        made, "select benchmark, count(*) as people, sum(calls)::int as calls from costs group by all"
    )
    counted = {row["benchmark"]: (row["people"], row["calls"]) for row in asked}
    assert counted["medley_designers"] == (3, 36) and counted["medley_verification"] == (3, 180)
    assert counted["medley_pool"][0] == 28 and counted["medley_pool"][1] >= 336


def run_sql(study: Path, query: str) -> list[dict[str, Any]]:
    found = run_command("sql", "--study", str(study), "--format", "json", query)
    assert found.returncode == 0, found.stderr
    rows: list[dict[str, Any]] = json.loads(found.stdout)
    return rows


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from metacog_pipeline.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


def journals(home: Path) -> dict[str, int]:
    """Return every kept answer's file with its size."""
    return {str(path): path.stat().st_size for path in (home / "transcripts").rglob("journal-*.jsonl")}
