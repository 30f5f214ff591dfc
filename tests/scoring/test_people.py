"""People who answered a benchmark's questions: a group of its own."""

import csv
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from metacog_pipeline.benchmark.bound import Bound, bound
from metacog_pipeline.errors import StudyError
from metacog_pipeline.home import KEPT
from metacog_pipeline.interchange.import_rules import ImportOptions
from metacog_pipeline.leaderboard import publishing
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.scoring import human_respondents as people
from metacog_pipeline.scoring.staleness import leaderboard_stale
from metacog_pipeline.study import load_study
from tests.homes import few_tables
from tests.studies import write_study

KEYS = {f"q{n}": "ABC"[n % 3] for n in range(12)}


@pytest.fixture
def into(tmp_path):
    rows = [f'{name},Question {name}?,"[""a"",""b"",""c""]",{key}' for name, key in KEYS.items()]
    (tmp_path / "own.csv").write_text("\n".join(["id,question,options,answer", *rows]))
    path = write_study(
        tmp_path, {"name": "m", "provider": "replay"}, benchmarks={"questions": {"items": "own.csv"}}
    )
    return bound(load_study(path), "questions")


def trials(path: Path, n: int, right: Callable[[int], float] = lambda who: 0.7, **more: Any) -> Path:
    """Write the trials of ``n`` people, who are right as often as ``right`` says and surer when they are."""
    draw = random.Random(1)
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["subject", "item_id", "answer", "confidence"])
        for who in range(n):
            for name, key in KEYS.items():
                good = draw.random() < right(who)
                said = key if good else draw.choice([each for each in "ABC" if each != key])
                writer.writerow(
                    [f"s{who}", name, said, draw.randint(40, 100) if good else draw.randint(20, 80)]
                )
    return path


def kept(into: Bound, file: Path) -> tuple[int, int, int]:
    found, who = people.keep(into, file, ImportOptions(people="subject"))
    return found.kept, who, len(found.rejected)


def test_people_are_one_group_with_the_mean_of_their_values(into, tmp_path):
    assert kept(into, trials(tmp_path / "p.csv", 10)) == (120, 10, 0)
    found = people.measured(into.study)
    assert set(found["source"]) == {"human"} and set(found["model"]) == {"people"}
    accuracy = found.filter(measure="harmonised_accuracy").row(0, named=True)
    own = pl.read_parquet(people.path_of(into.study.home, "questions"))
    shares = own.group_by("model").agg(pl.col("correct").mean())["correct"]
    assert accuracy["estimate"] == pytest.approx(shares.mean()) and accuracy["n_items"] == 10
    assert accuracy["low"] < accuracy["estimate"] < accuracy["high"]
    meta = found.filter(measure="harmonised_meta_d_mafc").row(0, named=True)
    assert (
        meta["low"] < meta["estimate"] < meta["high"]
        and "10 respondents" in meta["method"]
        and meta["n"] == 120
    )


def test_an_interval_of_a_share_stays_a_share_and_equal_people_have_none(into, tmp_path):
    kept(into, trials(tmp_path / "p.csv", 4, lambda who: 0.95))
    found = people.measured(into.study)
    shares = found.filter(pl.col("measure").str.contains("accuracy|auroc2$|brier|ece|mean_confidence"))
    assert shares["low"].min() >= 0 and shares["high"].max() <= 1
    kept(into, trials(tmp_path / "same.csv", 4, lambda who: 1.0))
    found = people.measured(into.study)
    accuracy = found.filter(measure="harmonised_accuracy").row(0, named=True)
    assert (accuracy["estimate"], accuracy["low"]) == (1.0, None) and "one value" in accuracy["status"]


def test_a_board_is_older_than_people_who_came_were_replaced_or_went(into, tmp_path, monkeypatch):
    few_tables(monkeypatch)
    study = into.study
    publishing.publish(study)
    for change in (
        lambda: kept(into, trials(tmp_path / "p.csv", 5)),
        lambda: kept(into, trials(tmp_path / "p.csv", 3)),
        lambda: people.path_of(study.home, "questions").unlink(),
    ):
        assert not leaderboard_stale(study)
        change()
        assert leaderboard_stale(study)
        publishing.publish(study)


@pytest.mark.proof
def test_a_home_of_what_is_kept_alone_has_the_same_people_on_the_board(into, tmp_path):
    kept(into, trials(tmp_path / "p.csv", 5))
    study = into.study

    def board() -> Any:
        publishing.publish(study)
        return run_query(study.home, "select * from calibration where source = 'human' order by all").rows

    before = board()
    for folder in study.home.path.iterdir():
        if folder.name not in KEPT:
            shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
    study.prepare()
    assert before and board() == before


def test_people_answer_questions_that_are_there_and_bring_none(into, tmp_path):
    kept(into, trials(tmp_path / "p.csv", 2))
    assert into.study.home.dagster.is_dir()
    (tmp_path / "own.csv").unlink()
    with pytest.raises(StudyError, match=r"own\.csv"):
        people.keep(into, tmp_path / "p.csv", ImportOptions(people="subject"))


def test_rows_that_cannot_be_used_are_told_and_none_is_refused(into, tmp_path):
    path = trials(tmp_path / "p.csv", 2)
    path.write_text(path.read_text() + ",q1,A,50\ns0,nothing,A,50\ns0,q1,A,50\n")
    found, who = people.keep(into, path, ImportOptions(people="subject"))
    reasons = [each.reason for each in found.rejected]
    assert (found.kept, who) == (24, 2) and "names no respondent" in reasons and len(reasons) == 3
    path.write_text("subject,item_id,answer\ns0,nothing,A\n")
    with pytest.raises(StudyError, match="none of its 1 rows can be used"):
        people.keep(into, path, ImportOptions(people="subject"))
    with pytest.raises(StudyError, match="no column 'who'"):
        people.keep(into, path, ImportOptions(people="who"))
    assert pl.read_parquet(people.path_of(into.study.home, "questions")).height == 24
