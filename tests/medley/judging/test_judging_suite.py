"""The fixed answers a judge is tried on: what its bias is, and that a fair one is told from one that is not."""

import polars as pl
import pytest

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.asking.judging import ask
from metacog_pipeline.benchmarks.medley import Medley
from metacog_pipeline.benchmarks.medley.grades import CRITERIA
from metacog_pipeline.benchmarks.medley.judging import asking, suite
from metacog_pipeline.benchmarks.medley.judging.prompts import messages
from metacog_pipeline.benchmarks.medley.judging.simulated import SimulatedJudge, features
from metacog_pipeline.errors import SourceError
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Sampling
from metacog_pipeline.study import load_study
from tests.tables import every

STUDY = """
[study]
name = "t"
home = "home"
[[models]]
name = "m"
provider = "simulated"
family = "m"
[[judges]]
name = "j"
provider = "simulated"
family = "j"
[benchmarks.medley]
dataset = "sample"
judges = ["j"]
"""


@pytest.fixture(scope="module")
def tried(wording):
    """Return a function that gives the biases of simulated judges, as the step computes them."""

    def build(**observers):
        rows = []
        for name, observer in observers.items():
            judge = SimulatedJudge(ObserverSpec(**observer), wording, suite.translations())
            for answer in suite.answers():
                text = judge(ChatRequest(messages(answer, wording), Sampling(seed=1), None, "judge"))
                rows.append((name, *answer.item_id.split(":"), suite._grade([text])))
        frame = pl.DataFrame(rows, schema=suite.SCHEMA, orient="row")
        return {(each.judge, each.form): each for each in suite.biases(frame, list(observers))}

    return build


def test_every_form_of_every_answer_is_there_and_differs_from_the_plain_one(wording):
    answers = {answer.item_id: answer for answer in suite.answers()}
    cases = {name.split(":")[0] for name in answers}
    assert set(answers) == {f"{case}:{form}" for case in cases for form in (suite.PLAIN, *suite.FORMS)}
    assert len({wording.fill(answer) for answer in suite.answers()}) == len(answers)
    for case in cases:
        plain = answers[f"{case}:plain"]
        assert len(answers[f"{case}:padding"].final.split()) > len(plain.final.split()) + 80


def test_letters_are_exchanged_and_nothing_else():
    for answer in suite.answers():
        assert suite._exchanged(suite._exchanged(answer.final)) == answer.final
    assert suite._exchanged("Analyst A and Analyst D. A dog") == "Analyst C and Analyst B. A dog"


def test_padding_and_praise_earn_nothing_by_what_can_be_counted():
    found = {}
    for answer in suite.answers():
        found[answer.item_id] = features(
            {"vignette": answer.vignette, "first": answer.first, "final": answer.final}
        )
    for name, counted in found.items():
        case, form = name.split(":")
        if form in ("padding", "self_praise", "letters"):
            assert counted == found[f"{case}:plain"], name


def test_a_fair_judge_has_no_bias_and_one_that_loves_length_is_flagged(tried):
    found = tried(
        fair={"accuracy": 1.0},
        erring={"accuracy": 0.8, "seed": 4},
        long={"accuracy": 0.9, "length_bias": 1.0},
    )
    assert {each.found.status for (judge, _), each in found.items() if judge != "long"} <= {
        suite.FAIR,
        suite.OPEN,
    }
    assert all(each.found.status == suite.FAIR for (judge, _), each in found.items() if judge == "fair")
    padded = found["long", "padding"]
    assert padded.found.status == suite.BIASED
    assert padded.found.low > 0
    assert suite.worst(list(found.values())).judge == "long"
    # Heads counted cost a fair judge's grades: a fall is deserved, and no bias.
    assert found["fair", "headcount"].found.high < 0


def test_fair_judges_that_err_are_hardly_ever_flagged(tried):
    judges = {f"judge{seed}": {"accuracy": 0.75, "seed": seed} for seed in range(12)}
    flagged = [key for key, each in tried(**judges).items() if each.found.status == suite.BIASED]
    assert len(flagged) <= 1, flagged


@every(
    ("moved", "form", "verdict"),
    [
        ([0.2, 0.3, 0.25], "padding", suite.BIASED),
        ([-0.2, -0.3, -0.25], "padding", suite.FAIR),
        ([-0.2, -0.3, -0.25], "letters", suite.BIASED),
        ([0.01, 0.01, 0.01], "letters", suite.FAIR),  # surely there, and too small to matter
        ([0.0, 0.0, 0.0], "language", suite.FAIR),
        ([0.4, -0.3, 0.1], "language", suite.OPEN),
        ([0.4, -0.3, 0.1], "padding", suite.OPEN),
    ],
)
def test_the_verdict_goes_by_interval_size_and_direction(moved, form, verdict):
    rows = [
        ("j", f"c{n}", name, grade)
        for n, d in enumerate(moved)
        for name, grade in (("plain", 0.5), (form, 0.5 + d))
    ]
    found = {
        each.form: each.found
        for each in suite.biases(pl.DataFrame(rows, schema=suite.SCHEMA, orient="row"), ["j"])
    }
    assert found[form].status == verdict
    assert all(found[other].value is None for other in suite.FORMS if other != form)


@pytest.mark.parametrize("texts", [[], [""], ["I would rather not."], ["{}", "[]", "null"]])
def test_a_judge_that_says_nothing_has_no_grade_and_no_bias(texts):
    assert suite._grade(texts) is None
    rows = [("j", *answer.item_id.split(":"), None) for answer in suite.answers()]
    for each in suite.biases(pl.DataFrame(rows, schema=suite.SCHEMA, orient="row"), ["j", "nobody"]):
        assert each.found.value is None
        assert each.found.n == 0
    assert suite.worst([]) is None


def test_of_several_replies_the_last_that_says_enough_counts(verdict):
    assert suite._grade([verdict(0), verdict(3), "no"]) == pytest.approx(1.0)
    assert suite._grade([verdict(2, **{CRITERIA[0]: 7})]) == pytest.approx(2 / 3)


def test_a_judge_is_tried_in_the_words_it_grades_in(wording, judge):
    tasks = asking.judge_tasks(suite.answers(), judge("openai"), wording)
    assert len({task.item_hash for task in tasks}) == len(tasks) == len(suite.answers())
    assert all(wording.read(wording.fill(answer))["final"] == answer.final for answer in suite.answers())


def test_items_wait_for_no_judge_and_judges_wait_for_their_trial(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    bench = Medley.of(load_study(tmp_path / "study.toml"))
    bench.context.study.prepare()
    assert suite.NAME not in construction.for_items(bench)
    assert bench.judging.needs == (suite.NAME,)
    (partition,) = tasks.partitions(bench)
    with pytest.raises(SourceError, match="judges are tried before they grade"):
        ask(bench, bench.judging, partition, pl.DataFrame())
    construction.run_step(bench, suite.STEP)
    graded = construction.KeptInputs(bench).frame(suite.NAME)
    assert graded.height == len(suite.answers()) and not graded["grade"].null_count()
    assert construction.step_current(bench, suite.STEP)
    (tmp_path / "study.toml").write_text(STUDY.replace('judges = ["j"]\n', ""))
    alone = Medley.of(load_study(tmp_path / "study.toml"))
    assert suite.NAME not in [step.name for step in alone.construction()]
