"""Boards of imported answers hold all that the boards of asked models hold."""

import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.leaderboard import publishing
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.scoring import printed
from metacog_pipeline.scoring.staleness import leaderboard_stale
from metacog_pipeline.study import load_study
from tests.studies import write_study


def test_what_a_paper_prints_stands_on_the_board_and_keeps_none_back_without(tmp_path, monkeypatch):
    sets = {
        "metamedqa": {"dataset": "sample", "limit": 4},
        "signaldetection": {"dataset": "sample", "trials": 10},
    }
    study = load_study(write_study(tmp_path, {"name": "theirs", "provider": "replay"}, benchmarks=sets))
    study.prepare()

    def fails(benchmark):
        raise ValueError("a table is torn")

    monkeypatch.setattr(printed, "write", fails)
    with pytest.raises(StoreError, match=r"metamedqa_published: .*a table is torn"):
        publishing.publish(study)
    assert study.home.leaderboard.exists()
    monkeypatch.undo()
    publishing.publish(study)
    sources = {row[0] for row in run_query(study.home, "select source from comparisons").rows}
    assert "published" in sources and not leaderboard_stale(study)
