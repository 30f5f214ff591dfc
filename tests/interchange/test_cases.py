"""What logs and tables hold comes out as the shared cases say: each folder with its ``expected.json``."""

import json
import os
import shutil
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.cli import cli
from metacog_pipeline.scoring import files as scored_files
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.store import PartitionStore, kept_records

NO_LOGS = ("expected.json", "s.toml", "q.jsonl", "fit.csv", "per_instance_stats.json")
WAYS = {"ok": ("ok",), "refused": ("refused",), "cut": ("too_long",), "not_kept": ("not_run",)}


def cases() -> Path | None:
    """Return the folder of cases: METACOG_CASES, or that next to the shared data."""
    data = os.environ.get("METACOG_DATA")
    named = os.environ.get("METACOG_CASES") or (str(Path(data).with_name("cases")) if data else "")
    folder = Path(named) / "imports" if named else None
    return folder if folder is not None and folder.is_dir() else None


FOUND = {each.parent.name for each in (cases() or Path("none")).glob("*/expected.json")}
NAMES = sorted(FOUND - {"provider"}) or ["none"]  # that one asks a server


def imported(
    folder: Path, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> tuple[pl.DataFrame, list[str], list[int]]:
    """Import files one by one into a new study; return its responses that there are, what was shown, the exit codes."""
    monkeypatch.chdir(folder)
    # the responses are looked at: the board that follows an import is not
    monkeypatch.setattr("metacog_pipeline.leaderboard.publishing.publish", lambda study: None)
    monkeypatch.setattr("metacog_pipeline.cli.boards.print_board", lambda *rest: None)
    shown, codes = [], []
    for file in files:
        done = CliRunner().invoke(cli, ["import", str(file), "--study", "s.toml"])
        shown += done.output.splitlines()
        codes.append(done.exit_code)
    into = bound(load_study(folder / "s.toml"), "questions")
    construction.build(into)
    found = []
    for each in (one for one in tasks.partitions(into) if any(kept_records(one.folder))):
        with PartitionStore(each.folder) as store:
            store.compact()
        found.append(scored_files.derived(into, scored_files.read(into, each), None))
    return pl.concat(found, how="diagonal_relaxed"), shown, codes


@pytest.fixture
def case(request, tmp_path, monkeypatch):
    """Return what is expected of a case, its responses, what was shown, and the exit codes."""
    if (there := cases()) is None:
        pytest.skip("no cases: name their folder in METACOG_CASES")
    assert len(NAMES) == 28
    folder = shutil.copytree(there / request.param, tmp_path / request.param, copy_function=shutil.copy)
    for each in (folder, *folder.rglob("*")):
        each.chmod(0o755)
    files = [each for each in sorted(folder.rglob("*")) if each.is_file() and each.name not in NO_LOGS]
    expected = json.loads((folder / "expected.json").read_text())
    return expected, *imported(folder, files, monkeypatch)


@pytest.mark.parametrize("case", NAMES, indirect=True)
def test_a_case_comes_out_as_it_is_expected(case, request):
    expected, responses, shown, codes = case
    there = responses.filter(pl.col("status") != "not_run")
    assert set(codes) <= {0, 8}, shown
    if "rows" in expected:
        check_rows(expected["rows"], there)
    for way in WAYS.keys() & expected.keys() if isinstance(expected.get("ok"), list) else ():
        found = responses.filter(pl.col("status").is_in(WAYS[way]))["item_id"]
        assert sorted(found) == expected[way], way
    if "kept" in expected:
        models = 2 if "t2.jsonl" in str(shown) else 1
        assert there.height == models * expected["kept"]
    if "items" in expected:
        assert there["item_id"].n_unique() == expected["items"]
    if "runs" in expected:
        assert there["run"].n_unique() == expected["runs"]
    if "said" in expected:
        assert there["said"].to_list() == expected["said"] and set(there["status"]) == {"too_long"}
    if "correct_by_run" in expected:
        assert there.sort("run")["correct"].to_list() == expected["correct_by_run"]
    if "accuracy" in expected:
        check_accuracy(expected["accuracy"], there)
    if "auroc2_if_token_chance" in expected:
        assert there["confidence"].round(2).to_list() == [0.99, 0.60, 0.41, 0.30]
    check_words(expected, shown)


def check_rows(rows, there):
    said = {(each["item_id"].rpartition("/")[2], each["run"]): each for each in there.to_dicts()}
    assert len(said) == len(rows)
    for row in rows:
        found = said[row["item"], row["run"]]
        assert (found["said"], found["correct"]) == (row["said"], row["correct"])
        sure = row["confidence"]
        assert found["confidence"] == (None if sure is None else pytest.approx(sure))


def check_accuracy(accuracy, there):
    if not isinstance(accuracy, dict):
        for _, own in there.group_by("model"):
            assert own["correct"].mean() == pytest.approx(float(Fraction(str(accuracy))))
        return
    found = {name: own["correct"].mean() for (name,), own in there.group_by("model")}
    for model, value in accuracy.items():
        (name,) = [each for each in found if each.endswith(model) or model.endswith(each)]
        assert found[name] == pytest.approx(value)


def check_words(expected, shown):
    text = "\n".join(shown)
    if "why" in expected:
        assert f"{expected['not_kept']} sample not kept: {expected['why']}" in text
    if "disagree" in expected:
        assert f"differ on right or wrong in {expected['disagree']} of" in text
    if expected.get("disagree_with_log") == 0:
        assert "differ on right or wrong" not in text


def test_a_table_with_a_column_key_is_no_batch(tmp_path, monkeypatch):
    rows = [{"question": f"Is it {n}?", "response": "AB"[n % 2], "key": "A", "model": "m"} for n in range(4)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found, _, codes = imported(tmp_path, [tmp_path / "t.jsonl"], monkeypatch)
    assert (codes, found["correct"].to_list()) == ([0], [1, 0, 1, 0])
