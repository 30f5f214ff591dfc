"""``metacog show``: what a number of a board rests on."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from metacog_pipeline import registry
from metacog_pipeline.asking import tasks
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard import glossary
from metacog_pipeline.leaderboard.read import one_connection, run_query
from metacog_pipeline.scoring import files
from metacog_pipeline.study import load_study
from tests.cli.scoring import publish, scored
from tests.studies import write_study


def finished(name: str, folder: Path) -> Path:
    """Return the file of a small study of a benchmark that was asked, scored and published."""
    models = (
        {"name": model, "provider": "simulated", "observer": {"accuracy": share, "seed": seed}}
        for model, share, seed in (("careful", 0.85, 1), ("hasty", 0.55, 2))
    )
    path = write_study(folder, *models, seed=1, benchmarks={name: registry.load(name).trial_settings})
    scored(load_study(path))
    return path


@pytest.fixture(scope="module")
def study_file(few_resamples, tmp_path_factory):
    return finished("metamedqa", tmp_path_factory.mktemp("explained"))


@pytest.fixture
def own_copy(study_file, tmp_path):
    """A copy of the study that a test may change."""
    return Path(shutil.copytree(study_file.parent, tmp_path / "copy")) / study_file.name


@pytest.fixture(
    scope="module",
    params=[pytest.param(n, marks=() if n == "metamedqa" else pytest.mark.proof) for n in registry.names()],
)
def study(request, study_file, tmp_path_factory):
    if request.param == "metamedqa":
        return load_study(study_file)
    return load_study(finished(request.param, tmp_path_factory.mktemp(request.param)))


def some_cells(home: Home) -> list[tuple[str, ...]]:
    """Return numbers of the board, one of each way to make one."""
    both = " union all ".join(
        f"select benchmark, condition, model, measure, method from {table}" for table in glossary.TABLES[:2]
    )
    found = run_query(
        home,
        f"select benchmark, condition, model, measure from ({both}) where measure not like '%bayes' "
        "qualify row_number() over (partition by method order by condition, model, measure) = 1 order by all",
    )
    return [tuple(map(str, row)) for row in found.rows]


def test_numbers_of_every_benchmark_are_explained(study):
    cells = some_cells(study.home)
    with one_connection(study.home):
        for cell in cells[:: max(1, len(cells) // 4)]:
            found = glossary.explain(study.home, *cell)
            assert found["formula"] and found["paper"], cell
            assert all(run_query(study.home, sql).columns for sql in found["sql"])
            assert found["asked"] >= sum(found["not_ok"].values())


CELL = ("metamedqa", "baseline", "careful")


def test_people_read_formula_counts_sql_and_the_first_items(metacog, study_file):
    result = metacog("show", study_file, *CELL, "m_ratio_mafc")
    assert result.code == 0, result.err
    for words in ("meta-d′ / d′", "Maniscalco & Lau", "Nature Communications"):
        assert words in result.out
    for words in ("profile likelihood", "24 responses, all ok", "from estimates where"):
        assert words in result.out


def test_programs_read_the_same_as_json(metacog, study_file):
    found = json.loads(metacog("show", study_file, *CELL, "harmonised_ece", "--json").out)
    home = load_study(study_file).home
    kept = run_query(home, found["sql"][0])
    row = dict(zip(kept.columns, kept.rows[0], strict=True))
    assert found["board"] == {name: row[name] for name in glossary.NUMBERS}
    assert len(run_query(home, found["sql"][1]).rows) == found["asked"]


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        (("metamedq", "baseline", "careful", "accuracy"), "metamedqa"),
        (("metamedqa", "basline", "careful", "accuracy"), "baseline"),
        (("metamedqa", "baseline", "carefull", "accuracy"), "careful"),
        (("metamedqa", "baseline", "careful", "auroc"), "auroc2"),
    ],
)
def test_a_name_that_is_not_on_the_board_is_met_with_the_nearest(metacog, study_file, wrong, meant):
    result = metacog("show", study_file, *wrong)
    result.refused_in_one_line(f'did you mean "{meant}"?')
    assert result.code == 2


@pytest.mark.parametrize("hostile", ["'; drop table estimates; --", "\x1b[31m", "é" * 4000, "", "%"])
def test_a_hostile_name_is_a_name_that_is_not_there(metacog, study_file, hostile):
    result = metacog("show", study_file, "metamedqa", "baseline", "careful", hostile)
    result.refused_in_one_line("the board has no measure")
    assert "\x1b" not in result.err
    assert metacog("show", study_file, *CELL, "accuracy").code == 0


def test_what_was_not_answered_or_read_is_counted_with_its_reason(metacog, own_copy):
    study = load_study(own_copy)
    benchmark = bound(study, "metamedqa")
    partition = tasks.partitions(benchmark)[0]
    target = partition.below("responses")
    frame = pl.read_parquet(target).with_row_index("_n")
    said = {0: ("transport_error", "timeout"), 1: ("confidence_unparsed", "no confidence\x1b[2J said")}
    for place, (status, reason) in said.items():
        here = pl.col("_n") == place
        frame = frame.with_columns(
            status=pl.when(here).then(pl.lit(status)).otherwise("status"),
            reason=pl.when(here).then(pl.lit(reason)).otherwise("reason"),
            confidence=pl.when(here).then(None).otherwise("confidence"),
        )
    files.write_frame(frame.drop("_n"), target, "changed")
    files.score(benchmark, partition)
    publish(benchmark)
    result = metacog("show", own_copy, *CELL, "ece")
    said_of_it = " ".join(result.out.split())
    assert result.code == 0 and "\x1b" not in result.out
    assert "1 transport_error: timeout" in said_of_it
    assert "1 confidence_unparsed: no confidence [2J said" in said_of_it
    assert "board: no value, simulated status: incomplete: 1 of 24 not answered" in said_of_it


def test_a_study_without_a_board_is_one_line(metacog, own_copy):
    (own_copy.parent / "home" / "leaderboard.duckdb").unlink()
    metacog("show", own_copy, *CELL, "accuracy").refused_in_one_line("metacog run")


@pytest.mark.parametrize(
    ("names", "lacks"), [(("metamedqa", "nothing"), "no item"), (("nothing",), "no answer")]
)
def test_an_item_or_an_answer_that_is_not_there_is_one_line(metacog, study_file, names, lacks):
    metacog("show", study_file, *names).refused_in_one_line(lacks, '"nothing"')
