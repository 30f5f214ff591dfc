"""The published set through the whole pipeline: sources, items, answers, scores, boards; figures from the data itself."""

import csv
import gzip
import json
import random
from collections import Counter
from dataclasses import replace

import pytest

from metacog_pipeline.asking import construction
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmarks.metamedqa import MetaMedQA, items
from metacog_pipeline.benchmarks.metamedqa.construction import edits, rules
from metacog_pipeline.files import shipped
from metacog_pipeline.interchange.import_rules import ImportOptions
from metacog_pipeline.interchange.importing import import_items
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.leaderboard.status import write_status
from metacog_pipeline.scoring import files, printed
from metacog_pipeline.sources import content_digest
from metacog_pipeline.study import Study, load_study
from tests.asking_in_process import ask
from tests.golden.agreed import DATA, GOLDEN, need

FILES, QUIRKS = DATA / "metamedqa", GOLDEN / "metamedqa" / "published_quirks.json"
NAMES = ("medqa_usmle_4opt_test.jsonl.gz", "metamedqa_published.jsonl.gz")
MODELS = ("always-e", "always-f", "the-key", "the-key-shuffled")
ROWS = "".join(f'[[models]]\nname = "{name}"\nprovider = "replay"\n' for name in MODELS)
STUDY = f"""
[study]
name = "published"
home = "home"

{ROWS}
[benchmarks.metamedqa]
dataset = "published"
"""


def rows_of(name: str = NAMES[1]) -> list[dict[str, object]]:
    with gzip.open(need(FILES / name), "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


@pytest.fixture(scope="module")
def pinned():
    """Pin what is found: the digests and sizes of these files, and the quirk cells beside the reference."""
    parents, published = rows_of(NAMES[0]), rows_of(NAMES[1])
    found = {"medqa": parents, "metamedqa": published}
    own = {name: (content_digest(rows), len(rows)) for name, rows in found.items()}
    if own["metamedqa"] != items.CONTENTS["metamedqa"] and not QUIRKS.exists():
        pytest.skip(f"{QUIRKS} is not here and the data is not the published set; set METACOG_GOLDEN")
    cells = edits.load_quirks(
        QUIRKS if QUIRKS.exists() else shipped("data", "metamedqa", "published_quirks.json")
    )
    with pytest.MonkeyPatch.context() as patch:
        for name, file in zip(found, NAMES, strict=True):
            patch.setitem(items.CONTENTS, name, own[name])
            named = replace(items.SOURCES[name], names=(file.removesuffix(".gz"),))
            patch.setitem(items.SOURCES, name, named)
        patch.setattr(rules, "MEDQA_ROWS", len(parents))
        patch.setattr(edits, "load_quirks", lambda path: cells)
        yield


@pytest.fixture(scope="module")
def study(few_resamples, tmp_path_factory, pinned):
    folder = tmp_path_factory.mktemp("published")
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    loaded = load_study(folder / "study.toml")
    loaded.prepare()
    items.fetch(loaded.home, folder=FILES)
    benchmark = MetaMedQA.of(loaded)
    construction.build(benchmark)
    rows = rows_of()
    keys = [str(row["answer_idx"]) for row in rows]
    answers = [["E"] * len(rows), ["F"] * len(rows), keys, keys]
    for model, choices in zip(MODELS, answers, strict=True):
        names = {item.position: item.item_id for item in benchmark.items}
        lines = [(names[row], choice, 1 + row % 5) for row, choice in enumerate(choices)]
        if model == "the-key-shuffled":
            random.Random(0).shuffle(lines)
        file = folder / f"{model}.csv"
        with file.open("w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out)
            writer.writerow(["item_id", "choice", "confidence"])
            writer.writerows(lines)
        done = import_items(benchmark, file, options=ImportOptions(model=model))
        assert not done.rejected
        partition = Partition(loaded, benchmark.name, loaded.model(model), 1)
        assert ask(benchmark, partition).complete
        files.read(benchmark, partition)
        files.score(benchmark, partition)
    files.pool(benchmark)
    files.compare(benchmark)
    printed.write(benchmark)
    write_status(loaded)
    build(loaded.home)
    return loaded


def measured(study: Study, model: str) -> dict[str, float]:
    query = f"select measure, estimate from leaderboard where model = '{model}' and source = 'measured'"
    return {str(name): value for name, value in run_query(study.home, query).rows}  # type: ignore[misc]


@pytest.mark.parametrize(
    ("model", "letter", "recall"),
    [("always-e", "E", "missing_answer_recall"), ("always-f", "F", "unknown_recall")],
)
def test_a_constant_responder_scores_the_share_of_its_letter(study, model, letter, recall):
    keys = Counter(str(row["answer_idx"]) for row in rows_of())
    found = measured(study, model)
    assert found["accuracy"] == pytest.approx(keys[letter] / keys.total())
    assert found[f"choice_share_{letter}"] == 1.0
    assert found["coverage"] == 1.0
    assert found[recall] == (1.0 if keys[letter] else None)


def test_the_key_itself_scores_everything(study):
    found = measured(study, "the-key")
    kinds = Counter(str(row["kind"]) for row in rows_of())
    keys = Counter(str(row["answer_idx"]) for row in rows_of())
    there = {
        "accuracy": keys.total(),
        "missing_answer_recall": keys["E"],
        "unknown_recall": keys["F"],
        "fictional_accuracy": kinds["Fictional"],
        "malformed_accuracy": kinds["Bad"],
    }
    assert {name: found[name] for name in there} == {name: 1.0 if n else None for name, n in there.items()}


def test_the_order_of_rows_does_not_affect_a_score(study):
    assert measured(study, "the-key") == measured(study, "the-key-shuffled")


def test_published_figures_stand_beside_measured_ones(study):
    rows = run_query(study.home, "select distinct source from leaderboard order by all").rows
    assert rows == (("measured",), ("published",))
    found = run_query(
        study.home,
        "select estimate from leaderboard where source = 'published' and measure = 'accuracy' and model like 'GPT-4o%' "
        "and condition = 'baseline'",
    ).rows
    assert found == ((pytest.approx(0.733),),)
