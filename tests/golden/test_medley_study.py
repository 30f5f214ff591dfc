"""Six respondents of known character over the 130 published instances, through the stages a study runs."""

import polars as pl
import pytest

from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmarks.medley import Medley, sources
from metacog_pipeline.benchmarks.medley.judging import JUDGING
from metacog_pipeline.benchmarks.medley.prompts import applicable
from metacog_pipeline.benchmarks.medley.pull import CHARACTERS
from metacog_pipeline.scoring import files, staleness
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.study.frames import read_frame
from tests.asking_in_process import ask
from tests.golden.agreed import PUBLISHED, need

pytestmark = pytest.mark.proof

HEAD = '[study]\nname = "characters"\nhome = "home"\nseed = 1\n'
MODEL = (
    '[[models]]\nname = "{0}"\nprovider = "simulated"\nfamily = "f{1}"\n'
    'observer = {{ character = "{0}", seed = {1} }}\n'
)
JUDGE = (
    '[[judges]]\nname = "judge-{0}"\nprovider = "simulated"\nfamily = "j{0}"\n'
    "observer = {{ accuracy = 0.9, seed = {0} }}\n"
)
TAIL = """
[benchmarks.medley]
dataset = "published"
conditions = ["normal", "adversarial", "stripped"]
judges = ["judge-21", "judge-22", "judge-23"]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("characters") / "study.toml"
    models = [MODEL.format(name, place) for place, name in enumerate(CHARACTERS)]
    path.write_text(
        "".join([HEAD, *models, *(JUDGE.format(n) for n in (21, 22, 23)), TAIL]), encoding="utf-8"
    )
    study = load_study(path)
    study.prepare()
    sources.fetch(study.home, folder=need(PUBLISHED))
    bench = Medley.of(study)
    construction.build(bench)
    for partition in tasks.partitions(bench):
        responses = answered(bench, partition)
        assert judging.ask(bench, JUDGING, partition, responses).complete
        files.read_judgements(bench, partition)
        files.score(bench, partition)
    files.pool(bench)
    assert not files.compare(bench).failures
    yield study


def answered(bench: Medley, partition: Partition) -> pl.DataFrame:
    outcome = ask(bench, partition)
    assert (outcome.answered, outcome.failed) == (outcome.tasks, 0)
    return files.read(bench, partition)


def chosen(study: Study) -> frozenset[str]:
    return frozenset(item.item_id for item in applicable(Medley.of(study).items, "stripped"))


def frames(study: Study, folder: str) -> pl.DataFrame:
    return pl.concat(
        [read_frame(path) for path in sorted((study.home.estimates / "medley" / folder).rglob("*.parquet"))]
    )


def test_every_character_is_told_from_what_it_changes(study):
    found = frames(study, "comparisons").filter(family="cognitive_map")
    assert dict(found.select("model", "verdict").iter_rows()) == {name: name for name in CHARACTERS}


def test_silence_has_no_score_at_all(study):
    found = frames(study, "models").filter(model="silent")
    told = found.filter(~pl.col("measure").str.starts_with("coverage"))
    assert told["estimate"].null_count() == told.height > 0
    assert set(found.filter(measure="coverage")["estimate"]) == {0.0}
    assert set(told["status"]) <= {"no instance could be scored", "no instance with a known answer"}


def test_the_fifty_instances_on_which_the_analysts_differ_most_are_stripped(study):
    assert len(chosen(study)) == 50
    scores = pl.concat([read_frame(each.below("scored")) for each in tasks.partitions(Medley.of(study))])
    assert set(scores.filter(condition="stripped")["item_id"]) == chosen(study)
    assert scores.filter(condition="normal")["item_id"].n_unique() == 130


def test_judges_graded_every_answer_that_could_be_read_and_no_other(study):
    for partition in tasks.partitions(Medley.of(study)):
        manifest = judging.judged_as(partition).manifest()
        answers = 0 if partition.spec.name == "silent" else 130 + 30 + 50
        assert (manifest["state"], manifest["n_answered"]) == ("complete", 3 * answers), partition.spec.name
    assert frames(study, "models").filter(measure="mas", condition="normal")["estimate"].null_count() == 1
    agreed = (
        frames(study, "models").filter(measure="judge_agreement", condition="normal")["estimate"].drop_nulls()
    )
    assert agreed.is_between(0.3, 1).all() and agreed.max() > 0.5, agreed


def test_nobody_is_asked_again(study):
    bench = Medley.of(study)
    for partition in tasks.partitions(bench):
        assert staleness.stale_stages(bench, partition) == ()
        assert ask(bench, partition).tally.calls == 0
        responses = read_frame(partition.below("responses"))
        assert judging.ask(bench, JUDGING, partition, responses).tally.calls == 0
