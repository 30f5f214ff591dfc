"""The pages in a browser: shares are the board's, an address that names nothing says so."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.report import explorer
from metacog_pipeline.report.page import build_report
from tests.homes import rows
from tests.report.answers import call, filled
from tests.report.conftest import made_home, write

N_ITEMS, RUNS = 12, (1, 2, 3)
FAILED = {"status": "failed", "error_kind": "fatal", "error_code": "model_not_found"}


def response(place: int, model: str, run: int) -> dict[str, object]:
    """Alpha is right in one run of three, beta in all."""
    return {
        "benchmark": "signaldetection", "dataset": "published", "condition": "A confidence", "model": model, "run": run,
        "item_id": f"item-{place:03}", "cluster": f"item-{place:03}",
        "correct": float(model == "beta" or (place + run) % 3 == 0), "confidence": 0.6, "response": "0", "reading": "ok",
    }  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home of two models in three runs, and one all of whose calls failed."""
    models = dict.fromkeys(("alpha", "beta", "broken"), "measured")
    found = made_home(Home(tmp_path_factory.mktemp("runs") / "home"), models)
    listed = {"provider": "openai", "source": "measured", "listed": True, "runs": len(RUNS)}
    write(found, "study/models.parquet", rows("model", *((name,) for name in models), **listed))
    items = [(f"item-{i:03}", i) for i in range(N_ITEMS)]
    asked = rows("item_id position", *items, dataset="published", text="word")
    write(found, "items/signaldetection.parquet", asked)
    for model, run in itertools.product(models, RUNS):
        text, more = ("word", {}) if model != "broken" else ("", FAILED)
        if model != "broken":
            read = [response(i, model, run) for i in range(N_ITEMS)]
            write(found, f"harmonised/signaldetection/model={model}/run={run}.parquet", read)
        same = {"model": model, "run": run, **more}
        calls = [call(i, text, answer_id=f"{model}-{i}-{run}", **same) for i in range(N_ITEMS)]
        place = f"transcripts/benchmark=signaldetection/model={model}/run={run}/transcripts.parquet"
        write(found, place, filled(calls))
    build(found)
    return found


@pytest.fixture
def page(browser) -> Iterator[Any]:
    """A page on dark paper; what goes wrong in it is what a test ends with."""
    made = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="dark")
    wrong: list[str] = []
    made.on("pageerror", lambda error: wrong.append(str(error)))
    yield made
    assert made.evaluate("window.hacked") is None and wrong == []
    made.close()


def shown(page: Any, address: str) -> Any:
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_function("!document.getElementById('summary').textContent.startsWith('loading')")
    return page


@pytest.mark.browser
def test_columns_are_the_models_that_are_chosen(home, page):
    address = (build_report(home).parent / explorer.FOLDER / explorer.PAGE).as_uri()
    shown(page, address)
    assert page.locator("#columns th").all_inner_texts() == ["item", "alpha", "beta", "broken"]
    page.locator("#model").select_option(["alpha", "broken"])
    page.wait_for_function("document.querySelectorAll('#columns th').length === 3")
    assert page.locator("#columns th").all_inner_texts() == ["item", "alpha", "broken"]
    shown(page, page.url)
    assert page.locator("#columns th").all_inner_texts() == ["item", "alpha", "broken"], "kept in the address"


@pytest.mark.browser
def test_shares_over_several_runs_are_those_of_the_board_and_count_answers(home, page):
    address = (build_report(home).parent / explorer.FOLDER / explorer.PAGE).as_uri()
    cells = shown(page, address).locator("#rows tr").first.locator("td").all_inner_texts()
    n = N_ITEMS * len(RUNS)
    assert cells == [f"33.3 % of {n}", f"100.0 % of {n}", "no verdict"]
    assert page.locator("#rows tr").nth(1).locator("td").all_inner_texts()[0].startswith("33 %")


@pytest.mark.browser
def test_an_address_that_names_nothing_shows_all_and_says_so(home, page):
    address = (build_report(home).parent / explorer.FOLDER / explorer.PAGE).as_uri()
    for wrong in ("abc", "-3", "1e9", "1.5", "", "NaN", "Infinity"):
        where = shown(page, f"{address}#page={wrong}").inner_text("#where")
        assert where == f"1 to {N_ITEMS} of {N_ITEMS}", wrong
    for name in ("benchmark", "condition", "kind", "model", "which", "order"):
        for value in ("nobody", "__proto__"):
            said = shown(page, f"{address}#{name}={value}").inner_text("#summary")
            assert re.search(rf"there is no [\w ]+ {value} here", said), (name, said)
            assert page.input_value(f"#{name}") != value and page.inner_text("#where").startswith("1 to")
    right = shown(page, f"{address}#benchmark=signaldetection&condition=A+confidence+raw&model=broken")
    assert "there is no" not in right.inner_text("#summary")
