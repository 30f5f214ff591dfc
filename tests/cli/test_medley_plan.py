"""What judges will cost is planned, like what models will."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.asking import judging, tasks
from metacog_pipeline.asking.plan import PlanRow, plan_study
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.scoring import files
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.transcripts.store import kept_records
from tests import homes
from tests.asking_in_process import ask
from tests.studies import write_study


def write(folder: Path, stranger: Mapping[str, Any]) -> Path:
    models = (
        {"name": "one", "provider": "simulated", "family": "a"},
        {"name": "two", "provider": "simulated", "family": "b", "observer": {"character": "crowd-follower"}},
    )
    kin = {"name": "kin", "provider": "simulated", "family": "a"}
    judges = kin, {"name": "stranger", "family": "c", **stranger}
    sample = {
        "dataset": "sample",
        "limit": 4,
        "conditions": ["normal", "adversarial"],
        "judges": ["kin", "stranger"],
    }
    return write_study(folder, *models, judges=judges, benchmarks={"medley": sample}, budget_usd=1.5)


def judge_rows(study: Study) -> dict[str, PlanRow]:
    return {row.model: row for row in plan_study(study).rows if row.benchmark == "medley_judgements"}


def test_judges_are_planned_before_there_is_anything_to_judge(tmp_path):
    priced = {"provider": "openai", "model": "m", "price_in": 1.0, "price_out": 4.0, "price_cache_write": 1.0}
    loaded = load_study(write(tmp_path, priced))
    homes.lend_cases(loaded)
    rows = judge_rows(loaded)
    expected = tasks.expected(bound(loaded, "medley"))
    assert set(rows) == {"kin", "stranger"}
    assert 2 * rows["kin"].calls == rows["stranger"].calls >= 2 * expected  # one may not judge its kin
    stranger = rows["stranger"]
    assert stranger.at_most_usd == pytest.approx((stranger.tokens_in + 4 * stranger.tokens_out) / 1e6)
    assert any("The budget could stop it" in note for note in plan_study(loaded).notes)


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A finished study whose judges cost nothing, and what was planned for them before."""
    path = write(tmp_path_factory.mktemp("judged"), {"provider": "simulated", "observer": {"seed": 3}})
    study = load_study(path)
    homes.lend_cases(study)
    before = judge_rows(study)
    medley = bound(study, "medley")
    for partition in tasks.partitions(medley):
        ask(medley, partition)
        judging.ask(medley, judging.wanted(medley), partition, files.read(medley, partition))
    return path, before


def test_what_is_planned_is_never_less_than_what_is_asked_and_nothing_once_it_is(judged):
    path, before = judged
    loaded = load_study(path)
    made = Counter(
        model
        for partition in tasks.partitions(bound(loaded, "medley"))
        for model, _ in {
            (each.model, each.answer_id) for each in kept_records(judging.judged_as(partition).folder)
        }
    )
    after = judge_rows(loaded)
    assert {name: row.answered for name, row in after.items()} == made
    assert {(row.to_ask, row.tokens_in, row.tokens_out) for row in after.values()} == {(0, 0, 0)}
    assert all(before[name].calls >= asked for name, asked in made.items())
