"""``metacog status --costs``: what was spent, and a provider's invoice beside it."""

import json
import shutil
from datetime import UTC, datetime, timedelta, timezone

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from tests.homes import write

PATH = "transcripts/benchmark=metamedqa/model=alpha/run=2/transcripts.parquet"
LATE = datetime(2026, 11, 27, 23, 30, tzinfo=UTC)


def call(place: int, at: datetime, usd: float | None, **columns: object) -> dict[str, object]:
    return {
        "answer_id": f"c{place}", "benchmark": "metamedqa", "model": "alpha", "run": 2, "item_id": f"i{place}",
        "condition": "c", "step": "answer", "provider": "openai", "model_id": "gpt-5", "source": "measured",
        "status": "ok", "text": "B", "request_json": "{}", "started_at": at, "superseded": False,
        "cost_usd": usd, **columns,
    }  # fmt: skip


@pytest.fixture(scope="module")
def spent(done_once, tmp_path_factory):
    """A study with calls on two days in UTC: three dollars on one, one on the next."""
    calls = [
        call(0, LATE, 1.0),
        call(1, LATE.astimezone(timezone(timedelta(hours=2))), 2.0),  # the next day, where its clock stood
        call(2, LATE + timedelta(hours=1), 1.0, status="failed", text=None),
        call(3, LATE, 5.0, source="imported"),  # paid by somebody else
        call(4, LATE, None),
    ]
    folder = shutil.copytree(done_once, tmp_path_factory.mktemp("spent") / "own")
    write(Home(folder / "home"), PATH, calls)
    build(Home(folder / "home"))
    return folder / "study.toml"


def lines(metacog, study, invoice):
    found = metacog("status", study, "--invoice", invoice, "--json")
    assert found.code == 0, found.err
    return {(row["day"], row["model"]): row for row in json.loads(found.out)["invoice"]}


def test_an_invoice_stands_beside_what_was_charged_on_each_day_in_utc(metacog, spent, file):
    invoice = file("i.csv", "date,model,cost\n2026-11-27,gpt-5-2026-01-01,3.00\n2026-11-28,gpt-5,1.25\n")
    found = lines(metacog, spent, invoice)
    first, second = found["2026-11-27", "gpt-5"], found["2026-11-28", "gpt-5"]
    assert (first["invoice_usd"], first["charged_usd"], first["difference_usd"]) == (3.0, 3.0, 0.0)
    assert (second["invoice_usd"], second["charged_usd"], second["difference_usd"]) == (1.25, 1.0, 0.25)


def test_the_difference_and_the_ledger_are_named_in_a_line_each(metacog, spent, file):
    found = metacog("status", spent, "--invoice", file("i.csv", "date,model,cost\n2026-11-27,gpt-5,9\n"))
    assert "The invoice says $9.00, the kept calls $4.00: $+5.00." in found.out
    assert "The ledger says $" in found.out


def test_without_an_invoice_it_prints_what_each_model_has_cost(metacog, spent):
    found = json.loads(metacog("status", spent, "--costs", "--json").out)["costs"]
    assert {row["model"]: row["cost_usd"] for row in found}["alpha"] == 9.0


def test_an_invoice_that_cannot_be_read_is_one_line(metacog, spent, file):
    wrong = metacog("status", spent, "--invoice", file("i.csv", "a,b\n1,2\n"))
    wrong.refused_in_one_line("no column 'date'", "rename")
    gone = metacog("status", spent, "--invoice", spent.parent / "none.csv")
    gone.refused_in_one_line("none.csv", "cannot be read")
