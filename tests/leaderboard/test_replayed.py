"""Boards of imported answers hold all that the boards of asked models hold."""

import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.leaderboard import replayed
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.scoring import printed
from metacog_pipeline.scoring.staleness import leaderboard_stale
from metacog_pipeline.study import load_study

STUDY = """
[study]
name = "t"
home = "home"

[[models]]
name = "theirs"
provider = "replay"

[benchmarks.metamedqa]
dataset = "sample"
limit = 4

[benchmarks.signaldetection]
dataset = "sample"
trials = 10
"""


def test_what_a_paper_prints_stands_on_a_board_of_imported_answers(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    study = load_study(tmp_path / "study.toml")
    study.prepare()
    replayed.publish(study)
    sources = {row[0] for row in run_query(study.home, "select source from comparisons").rows}
    assert "published" in sources and not leaderboard_stale(study)
    (study.home.estimates / "signaldetection" / "published" / printed.FILES[2]).unlink()
    assert leaderboard_stale(study)


def test_what_cannot_be_printed_keeps_no_board_back(tmp_path, monkeypatch):
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    study = load_study(tmp_path / "study.toml")
    study.prepare()

    def fails(benchmark):
        raise ValueError("a table is torn")

    monkeypatch.setattr(printed, "write", fails)
    with pytest.raises(StoreError, match=r"metamedqa_published: .*a table is torn"):
        replayed.publish(study)
    assert study.home.leaderboard.exists()
