"""From kept answers of a model to one grade per dimension, through the store: judged, resumed, changed, combined."""

from dataclasses import replace

import polars as pl
import pytest

from metacog_pipeline.benchmarks.medley.judging.agreement import agreement
from metacog_pipeline.benchmarks.medley.judging.cases import cases
from metacog_pipeline.benchmarks.medley.judging.combine import combine, grades
from metacog_pipeline.benchmarks.medley.judging.rows import read_judgements
from metacog_pipeline.benchmarks.medley.judging.asking import BENCHMARK, fingerprint, panel
from metacog_pipeline.benchmarks.medley.responses import observe, triple
from metacog_pipeline.benchmarks.medley.prompts import load_wording
from metacog_pipeline.benchmarks.medley.asking import ask_item
from metacog_pipeline.benchmarks.medley.simulated import SimulatedRespondent
from metacog_pipeline.benchmarks.medley.instance_scores import score_triples
from metacog_pipeline.querying.panel import panel_identities, query_panel
from metacog_pipeline.querying.session import Partition, query_partition
from metacog_pipeline.querying.types import Task
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.store import read_partition

STUDY = """
[study]
name = "t"
home = "home"
[[models]]
name = "m"
provider = "simulated"
family = "house"
[models.observer]
character = "{character}"
[benchmarks.medley]
enabled = true
judges = ["one", "two", "kin", "three"]
"""
JUDGE = '[[judges]]\nname = "{0}"\nprovider = "simulated"\nfamily = "{1}"\n[judges.observer]\nseed = {2}\n'
JUDGES = "".join(
    JUDGE.format(*row) for row in (("one", "a", 1), ("two", "b", 2), ("kin", "house", 3), ("three", "c", 4))
)
CONDITIONS = ("normal", "adversarial")


class Setting:
    """A study whose one simulated model has answered."""

    def __init__(self, folder, items, character="argument-follower"):
        path = folder / "study.toml"
        path.write_text(STUDY.format(character=character) + JUDGES)
        self.study = load_study(path)
        self.study.home.prepare()
        self.items = items
        self.model = self.study.models[0]
        self.partition = Partition(self.study, BENCHMARK, self.model, 1)
        self.answer()

    def answer(self):
        words = load_wording()

        def task(item, condition):
            async def run(ask, mode):
                await ask_item(item, condition, mode, ask, words, self.model)

            return Task(item.item_id, item.item_hash, condition, run)

        answers = Partition(self.study, "medley", self.model, 1)
        query_partition(
            answers,
            [task(item, condition) for item in self.items for condition in CONDITIONS],
            ("text",),
            fingerprint="x",
            respond=SimulatedJudge(self.items, self.model.observer),
        )
        self.observed = observe(
            self.items, read_partition(answers.folder), conditions=CONDITIONS, model="m", run=1
        )

    def judge(self, wording):
        self.cases = cases(self.items, self.observed)
        self.seats = panel(self.study.judges, self.model, self.cases, wording)
        mark = fingerprint(self.partition, self.study.judges, wording, "mark")
        return query_panel(self.partition, self.seats, fingerprint=mark)

    def read(self, **more):
        return read_judgements(
            read_partition(self.partition.folder),
            self.cases,
            self.study.judges,
            model=self.model,
            run=1,
            asked=panel_identities(self.partition, self.seats),
            **more,
        )


@pytest.fixture
def setting(tmp_path, debate):
    return Setting(tmp_path, [debate(number) for number in range(1, 7)])


def test_three_judges_of_other_families_judge_every_answer_once(setting, wording):
    outcome = setting.judge(wording)
    assert outcome.complete
    assert (outcome.tasks, outcome.tally.calls >= 36) == (36, True)
    frame = setting.read()
    assert sorted(frame["judge"].unique()) == ["one", "three", "two"]
    assert frame.height == 3 * len(CONDITIONS) * 6
    assert frame["status"].unique().to_list() == ["ok"]
    assert frame["source"].unique().to_list() == ["simulated"]
    assert frame.filter(condition="adversarial")["wrong_consensus"].all()
    again = setting.judge(wording)
    assert (again.complete, again.tally.calls) == (True, 0)
    assert setting.read().equals(frame)


def test_without_identities_the_rows_are_the_same(setting, wording):
    setting.judge(wording)
    by_name = read_judgements(
        read_partition(setting.partition.folder),
        setting.cases,
        setting.study.judges,
        model=setting.model,
        run=1,
    )
    assert by_name.equals(setting.read())


def test_a_changed_answer_is_judged_anew_and_nothing_else(setting, wording, debate):
    setting.judge(wording)
    before = setting.read()
    setting.items = [debate(1, strong_reason="12 alarms: an entirely new argument."), *setting.items[1:]]
    setting.answer()
    outcome = setting.judge(wording)
    assert outcome.complete
    after = setting.read()
    changed = before.join(after, on=["judge", "item_id", "condition", "answer_id"], how="anti")
    assert changed["item_id"].unique().to_list() == ["PUMP_001"]
    assert outcome.tally.calls <= 3 * len(changed)


def test_the_grades_reach_the_scores_and_the_agreement_is_that_of_good_judges(setting, wording):
    setting.judge(wording)
    frame = setting.read()
    combined = combine(frame)
    assert combined["status"].unique().to_list() == ["ok"]
    found = grades(combined)
    rows = setting.observed.filter(condition="normal").to_dicts()
    scores = score_triples(
        setting.items,
        [triple(row) for row in rows],
        [found[row["item_id"], "normal"] for row in rows],
    )
    assert (scores.abilities.n_judged == 10).all()
    table = agreement(frame, n_boot=50)
    alpha = table.filter(pl.col("measure") == "krippendorff_alpha", pl.col("dimension") == "all")["estimate"][
        0
    ]
    assert alpha > 0.2


def test_a_silent_model_leaves_nothing_to_judge(tmp_path, debate, wording):
    silent = Setting(tmp_path, [debate(number) for number in range(1, 4)], "silent")
    outcome = silent.judge(wording)
    assert (outcome.tasks, outcome.complete) == (0, True)
    frame = silent.read()
    assert frame["status"].unique().to_list() == ["no_answer"]
    assert combine(frame)["status"].unique().to_list() == ["no judge"]
    assert combine(frame)["transparency"].null_count() == combine(frame).height


def test_a_removed_judge_no_longer_counts(setting, wording):
    setting.judge(wording)
    setting.study = setting.study.model_copy(update={"judges": setting.study.judges[:2]})
    assert setting.judge(wording).tally.calls == 0
    frame = setting.read()
    assert sorted(frame["judge"].unique()) == ["one", "two"]
    assert combine(frame)["n_eligible"].unique().to_list() == [2]


def test_other_words_for_the_judge_are_another_question(setting, wording):
    setting.judge(wording)
    other = replace(wording, again="Again.", wrong_consensus="\nWrong.\n")
    setting.cases = cases(setting.items, setting.observed)
    setting.seats = panel(setting.study.judges, setting.model, setting.cases, other)
    frame = setting.read(wording=other)
    assert frame["status"].unique().to_list() == ["not_run"]
