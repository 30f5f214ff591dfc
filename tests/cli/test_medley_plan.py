"""What judges will cost is planned, and simulated judges are served, like models."""

from __future__ import annotations

from pathlib import Path

import pytest

from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.asking.planning import PlanRow, plan_study
from metacog_pipeline.asking.serving import respondents
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.files import shipped
from metacog_pipeline.study import Study, load_study

STUDY = """
[study]
name = "t"
home = "home"
budget_usd = 0.2

[[models]]
name = "one"
provider = "simulated"
family = "a"

[[models]]
name = "two"
provider = "simulated"
family = "b"
[models.observer]
character = "crowd-follower"

[[judges]]
name = "kin"
provider = "simulated"
family = "a"

[[judges]]
name = "stranger"
provider = "openai"
model = "m"
price_in = 1.0
price_out = 4.0
price_cache_write = 1.0
family = "c"

[benchmarks.medley]
dataset = "sample"
limit = 4
conditions = ["normal", "adversarial"]
judges = ["kin", "stranger"]
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def judge_rows(study: Study) -> dict[str, PlanRow]:
    return {row.model: row for row in plan_study(study).rows if row.benchmark == "medley_judgements"}


def test_judges_are_planned_before_there_is_anything_to_judge(study: Path) -> None:
    loaded = load_study(study)
    rows = judge_rows(loaded)
    expected = tasks.expected(bound(loaded, "medley"))
    assert list(rows) == ["kin", "stranger"]
    assert (rows["kin"].calls, rows["stranger"].calls) == (
        expected,
        2 * expected,
    )  # one may not judge its kin
    stranger = rows["stranger"]
    assert stranger.dollars == pytest.approx((stranger.tokens_in + 4 * stranger.tokens_out) / 1e6)
    assert any(
        "The budget could stop it at stranger on medley_judgements" in n for n in plan_study(loaded).notes
    )


def test_what_is_planned_is_never_less_than_what_is_asked_and_nothing_once_it_is(
    metacog, study: Path
) -> None:
    text = study.read_text()
    free = 'provider = "openai"\nmodel = "m"\nprice_in = 1.0\nprice_out = 4.0'
    study.write_text(text.replace(free, 'provider = "simulated"\nobserver = { seed = 3 }'))
    loaded = load_study(study)
    before = judge_rows(loaded)
    assert metacog("run", study, "--quiet").code == 0
    spent = {}
    for partition in tasks.partitions(bound(loaded, "medley")):
        manifest = judging.judged_as(partition).manifest()
        for name, noted in manifest["judges"].items():
            spent[name] = spent.get(name, 0) + noted["n_expected"]
    after = judge_rows(loaded)
    assert {name: row.calls for name, row in after.items()} == spent
    assert {(row.to_ask, row.tokens_in, row.tokens_out) for row in after.values()} == {(0, 0, 0)}
    assert all(before[name].calls >= asked for name, asked in spent.items())


def test_judges_with_other_words_are_asked_again(metacog, study: Path) -> None:
    own = study.parent / "own.toml"
    shipped_words = shipped("data", "medley", "judge.toml").read_text("utf-8")
    own.write_text(shipped_words.replace("You grade how", "Mark how"), "utf-8")
    free = 'provider = "openai"\nmodel = "m"\nprice_in = 1.0\nprice_out = 4.0'
    study.write_text(study.read_text().replace(free, 'provider = "simulated"\nobserver = { seed = 3 }'))
    assert metacog("run", study, "--quiet").code == 0
    assert {row.to_ask for row in judge_rows(load_study(study)).values()} == {0}
    study.write_text(study.read_text().replace("limit = 4", 'limit = 4\njudge_wording = "own.toml"'))
    assert all(row.to_ask == row.calls > 0 for row in judge_rows(load_study(study)).values())
    own.write_text("id = 3", "utf-8")
    metacog("plan", study).refused_in_one_line("own.toml: id = 3")


def test_simulated_judges_are_served_beside_models(study: Path) -> None:
    loaded = load_study(study)
    loaded.home.prepare()
    construction.build(bound(loaded, "medley"))
    assert list(respondents(loaded)) == ["one", "two", "kin"]
