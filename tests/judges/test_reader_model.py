"""The reader model: it decides names that no rule knows, blind to who replied; its error, as labelled, widens intervals."""

import csv
import json
import shutil

import polars as pl
import pytest

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.cli import main
from metacog_pipeline.judges.names import Asked, Name
from metacog_pipeline.leaderboard import publishing
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.staleness import stale_stages
from metacog_pipeline.study import load_study
from tests.asking_in_process import ask
from tests.injections import INJECTIONS
from tests.studies import write_study

QUESTIONS = {"questions": {"items": "q.jsonl", "conditions": ["answer_only", "verbal_percent"]}}
READER = '[reader]\njudge = "reader"'
N = 40
KEY = ("condition", "model", "measure")


def written(folder, more=READER, benchmarks=QUESTIONS):
    careful = {"name": "careful", "provider": "simulated", "observer": {"accuracy": 0.5}}
    reader = {"name": "reader", "provider": "simulated", "observer": {"accuracy": 0.7, "seed": 3}}
    path = write_study(folder, careful, judges=[reader], benchmarks=benchmarks, runs=2)
    path.write_text(path.read_text() + more)
    return path


def with_questions(folder, more=READER):
    """Write a study with its questions and return its file."""
    path = written(folder, more)
    rows = [{"question": f"Who wrote book {n}?", "answer": f"Author {n}"} for n in range(N)]
    (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def publish():
    """Return a function that asks and scores what a study lacks, in this process; the report is left as it was."""

    def published(path):
        study = load_study(path)
        study.prepare()
        own = bound(study, "questions")
        construction.build(own)
        for partition in tasks.partitions(own):
            if not files.has_answers(partition):
                ask(own, partition)
        publishing.publish(study)
        return own

    return published


@pytest.fixture(scope="module")
def study(few_resamples, tmp_path_factory):
    path = with_questions(tmp_path_factory.mktemp("study") / "own")
    with pytest.raises(SystemExit) as ended:
        main(["run", str(path), "--quiet"])
    assert not ended.value.code
    return path


@pytest.fixture
def own_copy(study, tmp_path):
    """A copy of the study that a test may change."""
    return shutil.copytree(study.parent, tmp_path / "own") / study.name


def tables(path, name):
    return pl.read_parquet(path.parent / "home" / name / "questions" / "**" / "*.parquet")


def estimates(path):
    return pl.read_parquet(path.parent / "home" / "estimates" / "questions" / "models" / "*.parquet").sort(
        KEY
    )


def label(metacog, path, file, verdict):
    """Write a sample and label each row by ``verdict`` of its id; return what the command says of the labels."""
    assert metacog("read", "questions", file, "--audit", path).code == 0
    with file.open(newline="") as handle:
        rows = [row | {"label": verdict(row["id"])} for row in csv.DictReader(handle)]
    write(file, rows)
    return metacog("read", "questions", file, "--audit", path)


def write(file, rows):
    with file.open("w", newline="") as handle:
        made = csv.DictWriter(handle, ["id", "shown", "label"])
        made.writeheader()
        made.writerows(rows)


def test_only_answers_that_are_no_accepted_one_are_decided_and_what_passes_is_right(study):
    scored = tables(study, "scored")
    read = scored.filter(pl.col("by_reader").is_not_null())
    assert 0 < read.height < scored.height and set(read["by_reader"]) == {0, 1}
    assert (read["correct"] == read["by_reader"]).all()
    by_words = tables(study, "responses")
    decided = by_words.join(read, on=["item_id", "condition"], how="semi")
    assert set(decided["correct"]) == {0}


def test_the_reader_sees_neither_model_nor_condition_and_one_answer_is_decided_once(study):
    kept = pl.read_parquet(
        study.parent / "home" / "transcripts" / "benchmark=questions_judgements" / "**" / "*.parquet"
    )
    for each in kept["request_json"]:
        shown = " ".join(text for _, text in json.loads(each)["messages"])
        assert not any(word in shown for word in ("careful", "simulated", "verbal_percent", "answer_only"))
    judged = tables(study, "judgements").filter(run=1)
    assert judged["answer_id"].n_unique() == judged["item_id"].n_unique() < judged.height


def test_without_labels_what_rests_on_the_reader_has_no_interval_and_says_why(study):
    rows = {
        row["measure"]: row
        for row in estimates(study).filter(pl.col("condition").str.ends_with("percent")).to_dicts()
    }
    assert (rows["accuracy"]["low"], rows["accuracy"]["status"]) == (None, "the reader model is not audited")
    assert rows["mean_confidence"]["low"] is not None, "confidence does not rest on the reader"


def test_the_board_of_the_report_says_why_there_is_no_interval(study):
    page = (study.parent / "home" / "report" / "index.html").read_text("utf-8")
    assert "accuracy of careful: the reader model is not audited" in page


def test_labels_correct_the_estimate_and_widen_its_interval(metacog, publish, own_copy, tmp_path):
    path = own_copy
    said = label(metacog, path, tmp_path / "labels.csv", lambda _: "fail")
    assert said.code == 0 and " fails are wrong" in said.out
    before = estimates(path)
    own = publish(path)
    after, truth = estimates(path), tables(path, "responses")
    rows = after.filter(measure="accuracy").to_dicts()
    for row, naive in zip(rows, before.filter(measure="accuracy").to_dicts(), strict=True):
        share = truth.filter(condition=row["condition"].split()[-1])["correct"].mean()
        assert row["status"] == "ok" and "labels" in row["method"]
        # No pass was right: the share right by words alone is the truth.
        assert row["low"] < share < row["high"] and abs(row["estimate"] - share) < naive["estimate"] - share
    found = metacog("show", path, "questions", rows[0]["condition"], "careful", "accuracy")
    assert found.code == 0 and f"{rows[0]['estimate']:.3f}"[:4] in found.out
    assert not any(stale_stages(own, each) for each in tasks.partitions(own))


def test_a_reader_that_is_always_right_leaves_the_estimate_near_what_it_says(
    metacog, publish, own_copy, tmp_path
):
    path = own_copy
    said = dict(tables(path, "judgements").select("answer_id", "verdict").iter_rows())
    label(metacog, path, tmp_path / "labels.csv", lambda answer: "pass" if said[answer] else "fail")
    before = estimates(path).filter(measure="accuracy")["estimate"]
    publish(path)
    rows = estimates(path).filter(measure="accuracy")
    assert (rows["estimate"] - before).abs().max() < 0.05
    assert ((rows["low"] < before) & (before < rows["high"])).all()


def test_without_a_reader_names_are_decided_by_rules_and_nobody_is_asked(metacog, publish, tmp_path):
    path = with_questions(tmp_path / "own", more="")
    publish(path)
    assert "by_reader" not in tables(path, "scored").columns
    assert not list((path.parent / "home" / "judgements").rglob("*.parquet"))
    refused = metacog("read", "questions", tmp_path / "x.csv", "--audit", path)
    assert refused.code == 2 and "no reader model; add [reader]" in refused.err
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"label": "perhaps"}, 'label "perhaps"; write pass or fail'),
        ({"label": "pass", "id": "f" * 64}, "is no verdict of this study"),
        ({}, "no row has a label"),
    ],
)
def test_a_label_that_cannot_be_counted_is_named(study, metacog, tmp_path, change, why):
    file = tmp_path / "labels.csv"
    assert metacog("read", "questions", file, "--audit", study).code == 0
    with file.open(newline="") as handle:
        first, *rest = csv.DictReader(handle)
    write(file, [first | change, *rest])
    done = metacog("read", "questions", file, "--audit", study)
    assert done.code == 2 and why in done.err and len(done.err.splitlines()) == 1


def test_a_row_that_is_labelled_twice_is_refused(study, metacog, tmp_path):
    file = tmp_path / "labels.csv"
    assert metacog("read", "questions", file, "--audit", study).code == 0
    with file.open(newline="") as handle:
        first = next(csv.DictReader(handle)) | {"label": "pass"}
    write(file, [first, first])
    assert "is labelled twice" in metacog("read", "questions", file, "--audit", study).err


def test_a_reader_that_is_no_judge_of_the_study_is_refused(study, metacog, tmp_path):
    text = study.read_text().replace('judge = "reader"', 'judge = "raeder"')
    other = tmp_path / "other.toml"
    other.write_text(text)
    done = metacog("plan", other)
    assert done.code == 2 and 'reader.judge: no judge "raeder" (did you mean "reader"?)' in done.err


@pytest.mark.parametrize("text", INJECTIONS)
def test_every_line_of_a_reply_is_quoted_to_the_reader(text):
    message = Name("1", "c", Asked("Who?", ("Ann", "An")), text).messages[1].content
    shown = message.split("Reply:\n")[1].split("\n\nPass if")[0]
    assert all(line.startswith("| ") for line in shown.split("\n"))


def test_tasks_whose_words_decide_nothing_go_to_the_reader_where_no_judge_is_named(tmp_path):
    path = written(tmp_path, benchmarks={"metacogbench": {"limit": 4}, "medley": {"dataset": "sample"}})
    own = bound(load_study(path), "metacogbench")
    assert own.judging.wanted(own)
    assert [each.name for each in own.judging.judges(own, own.study.models[0])] == ["reader"]
