"""What ``import metacog_pipeline`` gives to Python: frames for answers, one line for mistakes, nothing loaded unasked."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import metacog_pipeline as mp
from tests.studies import metamedqa, write_study

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def study(few_resamples, tmp_path_factory):
    names = enumerate(("one", "two"))
    models = ({"name": name, "provider": "simulated", "observer": {"seed": n}} for n, name in names)
    path = write_study(tmp_path_factory.mktemp("api"), *models, benchmarks=metamedqa(limit=6))
    opened = mp.open_study(path)
    opened.run()
    return opened


def test_the_exported_names_are_these():
    assert mp.__all__ == ["MetacogError", "OpenStudy", "open_study", "stats"]
    assert [name for name in dir(mp.OpenStudy) if not name.startswith("_")] == [
        *("board", "compare", "observations", "plan", "run", "sql", "transcripts", "verdict")
    ]
    for name in mp.__all__:
        assert getattr(mp, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'open_studdy'"):
        _ = mp.open_studdy


def test_importing_the_package_loads_nothing_heavy():
    heavy = ("numpy", "scipy", "polars", "duckdb", "pydantic", "dagster", "httpx")
    code = f"import sys, metacog_pipeline as mp; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stderr


def test_the_package_says_that_it_is_typed():
    assert (Path(mp.__file__).parent / "py.typed").is_file()


def test_a_run_leaves_nothing_to_plan(study):
    plan = study.plan()
    assert plan["model"].to_list() == ["one", "two"]
    assert plan["to_ask"].to_list() == [0, 0]
    assert (plan["answered"] == plan["calls"]).all()


def test_the_board_is_the_table_of_the_file(study):
    board = study.board("metamedqa").filter(pl.col("source") == "simulated")
    assert set(board["model"]) == {"one", "two"}
    asked = study.sql("select count(*) as n from leaderboard where source = 'simulated'")
    assert asked["n"].item() == board.height
    sums = study.sql(
        "select sum(n) as whole, 99999999999999999999::hugeint as large, null::hugeint as none from leaderboard"
    )
    assert sums.dtypes == [pl.Int64, pl.Decimal(38, 0), pl.Int64]


def test_observations_and_transcripts_are_whole(study):
    seen, calls = study.observations("metamedqa"), study.transcripts("metamedqa")
    assert seen.height == 12  # 2 models x 6 items, one condition
    assert not [name for name in seen.columns if name.startswith("_")]
    answers = set(seen["answer_ids"].explode().drop_nulls())
    assert answers <= set(calls["answer_id"])
    assert calls["request_json"].null_count() == calls["text"].null_count() == 0


def test_two_models_are_compared_on_what_both_answered(study):
    compared = study.compare("one", "two")
    assert set(compared.filter(family="confidence_models")["n"]) == {6}
    with pytest.raises(mp.MetacogError, match='no model "three"; it has: one, two'):
        study.compare("one", "three")
    with pytest.raises(mp.MetacogError, match='"one" twice; name two models'):
        study.compare("one", "one")


def test_the_statistics_are_there_by_module(monkeypatch):
    assert mp.stats.intervals.proportion(9, 10).value == 0.9
    assert {"calibration", "metad", "resampling", "type1"} <= set(dir(mp.stats))
    assert not [name for name in dir(mp.stats) if name.startswith("_")]
    with pytest.raises(AttributeError, match="no attribute 'propotions'"):
        _ = mp.stats.propotions


def test_the_notebook_runs_from_another_folder(study, loaded, tmp_path, monkeypatch):
    notebook = json.loads((ROOT / "docs" / "first_look.ipynb").read_text("utf-8"))
    assert not any(cell.get("outputs") for cell in notebook["cells"])
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    script = "\n".join([*cells, "assert board.height and recounted.status == 'ok'", "print('to the end')"])
    environment = {**os.environ, "METACOG_STUDY": str(study.study.path), "MPLBACKEND": "agg"}
    monkeypatch.chdir(tmp_path)
    out, err = loaded.python("-c", script, **environment).communicate()
    assert out.endswith("to the end\n"), err
    assert not list(tmp_path.iterdir())


def test_a_mistake_is_one_line(study, tmp_path):
    with pytest.raises(mp.MetacogError, match='did you mean "metamedqa"'):
        study.observations("metamedq")
    with pytest.raises(mp.MetacogError, match="medley"):
        study.transcripts("medley")
    with pytest.raises(mp.MetacogError, match='no model "tow"'):
        study.run(models=["tow"])
    with pytest.raises(mp.MetacogError, match="only read here"):
        study.sql("drop table leaderboard")
    for missing in (tmp_path / "none.toml", "a\0b"):
        with pytest.raises(mp.MetacogError, match=r"no such study file|null byte"):
            mp.open_study(missing)


def test_every_answer_of_a_query_is_a_frame_or_one_line(study):
    joined = study.sql("select * from leaderboard as a join models as b using (model) limit 3")
    assert {"source", "source_2"} <= set(joined.columns) and joined.height == 3
    assert study.sql("select 1 as a, 2 as a, 3 as a_2").row(0, named=True) == {"a": 1, "a_2": 2, "a_2_2": 3}
    day = "interval 1 day"
    for odd in ("union_value(n := 1)", day, f"[{day}]", f"{{'a': {{'b': {day}}}}}", f"map {{'k': {day}}}"):
        with pytest.raises(mp.MetacogError, match='column "odd" holds'):
            study.sql(f"select {odd} as odd")
    kinds = ("1::bit", "'a'::enum('a', 'b')", "uuid()", "1::varint", "timetz '01:00:00+02'", "map {'k': 1}")
    for kind in kinds:
        assert study.sql(f"select {kind} as odd union all select null").height == 2
    assert study.sql("select 'a' as took, 1 as took").row(0) == ("a", 1)
