"""The construction stage of a study: built once, current until something it is made from changes, counted by language."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metacog_pipeline.benchmarks.selfknowledge.construction.files import items_path
from metacog_pipeline.benchmarks.selfknowledge.stages import construction as stage
from metacog_pipeline.errors import SourceError, StudyError
from metacog_pipeline.study import Study, load_study

STUDY = """
[study]
name = "construction"
home = "home"
seed = {seed}

[[models]]
name = "someone"
provider = "simulated"

[benchmarks.metamedqa]
enabled = false

[benchmarks.selfknowledge]
enabled = true
{more}
"""


def study(folder: Path, more: str = "", seed: int = 0) -> Study:
    path = folder / "study.toml"
    path.write_text(STUDY.format(seed=seed, more=more))
    return load_study(path)


def nq(folder: Path, n: int = 6) -> None:
    rows = [{"question": f"q {k}", "answer": [f"answer {k}"] if k else []} for k in range(n)]
    folder.mkdir(exist_ok=True)
    (folder / "NQ-open.dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_the_sample_is_built_and_stays_current_until_the_draw_changes(tmp_path: Path) -> None:
    first = study(tmp_path, "limit = 20")
    assert not stage.items_current(first) and stage.expected_rows(first) == 0
    with pytest.raises(SourceError, match="not built yet"):
        stage.items(first)
    built = stage.construct(first)
    assert built.violations == () and built.facts["rows"] == len(stage.items(first)) == 20
    assert built.facts["dataset"] == "sample" and built.frame.height == 20
    assert stage.items_current(first) and len(stage.items_digest(first)) == 64
    assert stage.items_current(study(tmp_path, 'limit = 20\nlanguages = ["en", "ko"]'))
    assert not stage.items_current(study(tmp_path, "limit = 21"))
    assert not stage.items_current(study(tmp_path, "limit = 20", seed=1))
    assert not stage.items_current(study(tmp_path, 'limit = 20\nsplit = "train"'))


def test_rows_are_expected_for_every_language_and_for_the_leave_to_abstain(tmp_path: Path) -> None:
    stage.construct(study(tmp_path, "limit = 10"))
    assert stage.expected_rows(study(tmp_path, "limit = 10")) == 20
    assert stage.expected_rows(study(tmp_path, "limit = 10\nidk = false")) == 10
    four = 'limit = 10\nlanguages = ["en", "zh", "ko", "es"]'
    assert stage.expected_rows(study(tmp_path, four)) == 50


def test_files_of_a_folder_beside_the_study_are_used_as_they_are(tmp_path: Path) -> None:
    nq(tmp_path / "mine")
    own = study(tmp_path, 'dataset = "nq_open"\nfolder = "mine"')
    assert stage.needed_sources(own) == ()
    found = stage.fetch_sources(own)
    assert found.facts["rows"] == 6 and found.facts["unanswerable"] == 1 and found.facts["published"] is False
    built = stage.build(own)
    assert built.facts["dataset"] == "nq_open-local" and built.counts["unanswerable_en"] == 1
    assert stage.items_current(own)
    nq(tmp_path / "mine", 7)
    assert not stage.items_current(own)


def test_a_published_set_that_is_not_home_is_needed_and_missed(tmp_path: Path) -> None:
    away = study(tmp_path, 'dataset = "trivia_qa"\nsplit = "all"')
    assert stage.needed_sources(away) == ("trivia_qa_train", "trivia_qa")
    assert set(stage.needed_sources(away)) < set(stage.SOURCE_NAMES) and not stage.items_current(away)
    with pytest.raises(SourceError, match="metacog fetch trivia_qa_train"):
        stage.build(away)
    with pytest.raises(StudyError, match="not published"):
        stage.construct(study(tmp_path, 'dataset = "trivia_qa"\nsplit = "test"'))


def test_damaged_items_are_refused(tmp_path: Path) -> None:
    here = study(tmp_path, "limit = 5")
    stage.construct(here)
    items_path(here.home.path).write_bytes(b"PAR1 torn")
    with pytest.raises(SourceError, match="cannot be read"):
        stage.items(here)
