"""A study of MetaCog-Bench from its file to its numbers, in one process."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from metacog_pipeline.benchmarks.common import asking, scoring
from metacog_pipeline.benchmarks.metacogbench.stages import METACOGBENCH, build, items, lexicon, wording
from metacog_pipeline.errors import SourceError, StudyError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.study import Study, load_study

MODEL = """
[[models]]
name = "careful"
provider = "simulated"
temperature = 0.7
observer = { caution = 1.0, caving = 0.0, transfer = 1.0, unknown_awareness = 1.0 }
"""


def study(folder: Path, section: str = "", models: str = MODEL) -> Study:
    path = folder / "study.toml"
    head = '[study]\nname = "s"\n\n[benchmarks.metamedqa]\nenabled = false\n\n[benchmarks.metacogbench]\nenabled = true\n'
    path.write_text(f"{head}{section}\n{models}", "utf-8")
    return load_study(path)


def test_a_study_runs_from_items_to_estimates(tmp_path: Path) -> None:
    asked = study(tmp_path, 'limit = 3\nconditions = ["free", "json", "json_notes", "two_turn"]')
    assert METACOGBENCH.expected_rows(asked) == 0 and not METACOGBENCH.items_current(asked)
    built = build(asked)
    assert set(built.counts.values()) == {3} and METACOGBENCH.items_current(asked)
    (partition,) = METACOGBENCH.partitions(asked)
    todo = METACOGBENCH.tasks(asked, partition.spec)
    assert len(todo) == METACOGBENCH.expected_rows(asked) == 15 + 9 + 3 + 3
    asking.query(METACOGBENCH, partition, todo)
    assert partition.manifest()["state"] == "complete"
    observed = scoring.observe(METACOGBENCH, partition)
    assert observed.rows == observed.expected_rows == 30
    assert set(observed.frame["status"]) == {"ok"} and set(observed.frame["source"]) == {"simulated"}
    passed = dict(
        observed.frame.group_by("tier", "condition")
        .agg(pl.col("passed").mean())
        .select(pl.concat_str("tier", "condition", separator=" "), "passed")
        .iter_rows()
    )
    assert passed["2a free"] == passed["2a json_notes"] == passed["2b free"] == passed["3 free"] == 1
    assert passed["2a json"] == 0
    found = scoring.estimate(METACOGBENCH, partition)
    assert found.height > 0 and scoring.stale(METACOGBENCH, partition) == ()


def test_another_limit_set_or_lexicon_is_noticed_and_another_name_is_not(tmp_path: Path) -> None:
    first = study(tmp_path, "limit = 2")
    build(first)
    (partition,) = METACOGBENCH.partitions(first)
    mark = METACOGBENCH.fingerprint(partition)
    assert not METACOGBENCH.items_current(study(tmp_path, "limit = 3"))
    assert not METACOGBENCH.items_current(study(tmp_path, 'limit = 2\nset = "metacog41"'))
    (tmp_path / "cues.toml").write_text(
        "extends = true\n[[caution]]\nid = \"own.hm\"\nregex = '\\bhm\\b'\n", "utf-8"
    )
    other = study(tmp_path, 'limit = 2\nlexicon = "cues.toml"')
    assert METACOGBENCH.items_current(other) and lexicon(other).digest != lexicon(first).digest
    assert METACOGBENCH.fingerprint(METACOGBENCH.partitions(other)[0]) != mark
    assert METACOGBENCH.fingerprint(METACOGBENCH.partitions(study(tmp_path, "limit = 2"))[0]) == mark


def test_a_larger_limit_only_adds(tmp_path: Path) -> None:
    names = []
    for limit in (2, 4):
        asked = study(tmp_path, f"limit = {limit}")
        build(asked)
        names.append({item.item_id for item in items(asked)})
    assert names[0] < names[1]


def test_own_words_are_asked_beside_the_study_file(tmp_path: Path) -> None:
    (tmp_path / "words.toml").write_text('id = "mine"\nsystem = "Be brief."\n', "utf-8")
    assert wording(study(tmp_path, 'wording = "words.toml"')).system == "Be brief."
    with pytest.raises(StudyError, match="cannot be read"):
        wording(study(tmp_path, 'wording = "none.toml"'))


def test_items_that_are_not_built_yet_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not built yet"):
        items(study(tmp_path))


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ('set = "metacog99"', "metacog147"),
        ('conditions = ["free", "jsn"]', "json_notes"),
        ('conditions = ["free", "free"]', "twice"),
        ("limit = 0", "limit"),
    ],
)
def test_a_section_that_cannot_be_is_refused(section: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=said):
        study(tmp_path, section)


def test_models_answer_in_text_unless_their_row_asks_for_a_schema() -> None:
    def row(**fields: object) -> ModelSpec:
        return ModelSpec.model_validate({"name": "m", "provider": "openai", "model": "x", **fields})

    assert METACOGBENCH.modes(row()) == ("text",)
    assert METACOGBENCH.modes(row(answer_mode="choice")) == ("text",)
    assert METACOGBENCH.modes(row(answer_mode="json_schema")) == ("json_schema",)
