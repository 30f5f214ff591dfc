"""A model that answers otherwise under its name: other answers to the same question at temperature 0 on another day."""

from datetime import timedelta

import pytest

from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from tests.homes import few_tables, write
from tests.leaderboard.conftest import WHEN, call

PATH = "transcripts/benchmark=metamedqa/model=alpha/run=1/transcripts.parquet"


@pytest.fixture(autouse=True)
def few(monkeypatch):
    few_tables(monkeypatch, "model_drift")


def asked(question: str = "Q?", temperature: float = 0.0) -> dict[str, object]:
    return {"request_json": f'{{"messages": ["{question}"], "sampling": {{"temperature": {temperature}}}}}'}


def drift(make_home, calls):
    home = make_home({"alpha": "measured"}, silent=("alpha",))
    write(home, PATH, calls)
    build(home)
    sign = "where sign = 'answers at temperature 0'"
    return run_query(home, f"select n, changed, flagged from model_drift {sign}").rows


@pytest.mark.parametrize(
    ("later", "drifts"),
    [
        ({"run": 2}, True),
        ({"run": 1, "reask": 1}, False),  # one call of one run, asked again because its answer was unusable
        ({"run": 2, "provider": "simulated"}, False),
        ({"run": 2, **asked(temperature=1.0)}, False),
    ],
)
def test_drift_is_another_answer_of_another_run_on_another_day(make_home, later, drifts):
    next_day = {"answer_id": "b", "started_at": WHEN + timedelta(days=1), **asked(), **later}
    found = drift(make_home, [call("A", **asked()), call("B", **next_day)])
    assert found == (((1, 1, True),) if drifts else ())


def test_a_model_that_varies_within_a_day_as_much_as_between_days_has_not_changed(make_home):
    calls = []
    for item in range(20):
        for run, (day, text) in enumerate([(0, "A"), (0, "AB"[item % 2]), (1, "BA"[item > 15])], start=1):
            when = WHEN + timedelta(days=day, seconds=run)
            key = {"item_id": f"i{item}", "answer_id": f"{item}-{run}", "run": run}
            calls.append(call(text, **key, started_at=when, **asked(f"Q{item}?")))
    assert drift(make_home, calls) == ((40, 26, False),)  # .65 where .5 is usual
