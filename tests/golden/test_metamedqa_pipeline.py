"""The published set through the whole pipeline: sources, items, answers, scores, boards; figures from the data itself."""

import csv
from collections import Counter

import pytest

from metacog_pipeline.asking import construction
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmarks.metamedqa import MetaMedQA, items
from metacog_pipeline.errors import SourceError
from metacog_pipeline.interchange.import_rules import ImportOptions
from metacog_pipeline.interchange.importing import import_file
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.leaderboard.status import write_status
from metacog_pipeline.scoring import files, printed
from metacog_pipeline.sources import read_lines
from metacog_pipeline.study import Study, load_study
from tests.asking_in_process import ask
from tests.golden.agreed import DATA, need
from tests.homes import few_tables

FILES = DATA / "metamedqa"
STUDY = """
[study]
name = "published"
home = "home"
[[models]]
name = "always-e"
provider = "replay"
[[models]]
name = "the-key"
provider = "replay"
[benchmarks.metamedqa]
dataset = "published"
"""


@pytest.fixture(scope="module")
def rows():
    return [line.row for line in read_lines(need(FILES / "metamedqa_published.jsonl.gz"))]


@pytest.fixture(scope="module")
def study(few_resamples, tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("published")
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    loaded = load_study(folder / "study.toml")
    loaded.prepare()
    try:
        items.fetch(loaded.home, folder=FILES)
    except SourceError as error:
        pytest.skip(f"{error}")
    benchmark = MetaMedQA.of(loaded)
    construction.build(benchmark)
    keys = [str(row["answer_idx"]) for row in rows]
    for model, choices in (("always-e", ["E"] * len(rows)), ("the-key", keys)):
        names = zip(benchmark.items, choices, strict=True)
        lines = [(item.item_id, choice, 1 + row % 5) for row, (item, choice) in enumerate(names)]
        file = folder / f"{model}.csv"
        with file.open("w", newline="", encoding="utf-8") as out:
            # In another order than the items: no score hangs on it.
            csv.writer(out).writerows([("item_id", "choice", "confidence"), *reversed(lines)])
        assert not import_file(file, loaded.path, ImportOptions(model=model)).rejected
        partition = Partition(loaded, benchmark.name, loaded.model(model), 1)
        assert ask(benchmark, partition).complete
        files.read(benchmark, partition)
        files.score(benchmark, partition)
    files.pool(benchmark)
    printed.write(benchmark)
    write_status(loaded)
    with pytest.MonkeyPatch.context() as patch:
        few_tables(patch, "leaderboard", tested=True)
        build(loaded.home)
    return loaded


def measured(study: Study, model: str) -> dict[str, float]:
    query = f"select measure, estimate from leaderboard where model = '{model}' and source = 'measured'"
    return {str(name): value for name, value in run_query(study.home, query).rows}  # type: ignore[misc]


def test_a_constant_responder_scores_the_share_of_its_letter(study, rows):
    keys, found = Counter(row["answer_idx"] for row in rows), measured(study, "always-e")
    assert found["accuracy"] == pytest.approx(keys["E"] / keys.total())
    assert found["choice_share_E"] == found["coverage"] == found["missing_answer_recall"] == 1.0
    assert found["unknown_recall"] == 0.0


def test_the_key_itself_scores_everything(study):
    found = measured(study, "the-key")
    names = (
        "accuracy",
        "missing_answer_recall",
        "unknown_recall",
        "fictional_accuracy",
        "malformed_accuracy",
    )
    assert [found[name] for name in names] == [1.0] * 5


def test_published_figures_stand_beside_measured_ones(study):
    found = run_query(study.home, "select distinct source from leaderboard order by all").rows
    assert found == (("measured",), ("published",))
    found = run_query(
        study.home,
        "select estimate from leaderboard where source = 'published' and measure = 'accuracy' and model like 'GPT-4o%' "
        "and condition = 'baseline'",
    ).rows
    assert found == ((pytest.approx(0.733),),)
