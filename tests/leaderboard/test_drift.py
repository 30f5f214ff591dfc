"""A model that answers otherwise under its name: other answers to the same question at temperature 0 on another day."""

from datetime import timedelta

import pytest

from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from tests.homes import write
from tests.leaderboard.conftest import WHEN


@pytest.mark.parametrize(
    ("later", "drifts"),
    [
        ({"run": 2}, True),
        ({"run": 1, "reask": 1}, False),  # one call of one run, asked again because its answer was unusable
        ({"run": 2, "provider": "simulated"}, False),
        ({"run": 2, "request_json": '{"messages": ["Q?"], "sampling": {"temperature": 1.0}}'}, False),
    ],
)
def test_drift_is_another_answer_of_another_run_on_another_day(make_home, later, drifts):
    home = make_home({"alpha": "measured"}, silent=("alpha",))
    call = {
        "benchmark": "metamedqa", "model": "alpha", "run": 1, "item_id": "i", "condition": "c", "answer_id": "a",
        "step": "answer", "source": "measured", "provider": "openai", "status": "ok", "text": "A", "superseded": False,
        "started_at": WHEN, "request_json": '{"messages": ["Q?"], "sampling": {"temperature": 0.0}}',
    }  # fmt: skip
    other = {**call, "answer_id": "b", "text": "B", "started_at": WHEN + timedelta(days=1), **later}
    write(home, "transcripts/benchmark=metamedqa/model=alpha/run=1/transcripts.parquet", [call, other])
    build(home)
    found = run_query(
        home, "select n, changed, flagged from model_drift where sign = 'answers at temperature 0'"
    ).rows
    assert found == (((1, 1, True),) if drifts else ())


def test_a_model_that_varies_within_a_day_as_much_as_between_days_has_not_changed(make_home):
    home = make_home({"alpha": "measured"}, silent=("alpha",))
    calls = []
    for item in range(20):
        for run, (day, text) in enumerate([(0, "A"), (0, "AB"[item % 2]), (1, "BA"[item > 15])], start=1):
            calls.append(
                {
                    "benchmark": "metamedqa", "model": "alpha", "run": run, "item_id": f"i{item}", "condition": "c",
                    "answer_id": f"{item}-{run}", "step": "answer", "source": "measured", "provider": "openai",
                    "status": "ok", "text": text, "superseded": False,
                    "started_at": WHEN + timedelta(days=day, seconds=run),
                    "request_json": f'{{"messages": ["Q{item}?"], "sampling": {{"temperature": 0.0}}}}',
                }
            )  # fmt: skip
    write(home, "transcripts/benchmark=metamedqa/model=alpha/run=1/transcripts.parquet", calls)
    build(home)
    found = run_query(
        home, "select n, changed, flagged from model_drift where sign = 'answers at temperature 0'"
    ).rows
    [(n, changed, flagged)] = found
    assert (n, changed, flagged) == (40, 26, False)  # .65 where .5 is usual
