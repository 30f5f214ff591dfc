"""A study of self-knowledge from its file to its numbers, in one process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from metacog_pipeline.benchmarks.common import asking, scoring
from metacog_pipeline.benchmarks.planning import plan_study
from metacog_pipeline.benchmarks.selfknowledge.stages import SELFKNOWLEDGE, build, items, wording
from metacog_pipeline.benchmarks.serving import respondents
from metacog_pipeline.errors import SourceError, StudyError
from metacog_pipeline.llm.server.running import ServerThread
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.study import Study, load_study

MODEL = """
[[models]]
name = "knowing"
provider = "simulated"
observer = { accuracy = 0.6, d_type2 = 3.0 }
"""
EVERY = 'languages = ["en", "zh", "ko", "es"]'


def study(folder: Path, section: str = "", models: str = MODEL) -> Study:
    path = folder / "study.toml"
    head = '[study]\nname = "s"\n\n[benchmarks.metamedqa]\nenabled = false\n\n[benchmarks.selfknowledge]\nenabled = true\n'
    path.write_text(f"{head}{section}\n{models}", "utf-8")
    return load_study(path)


def ask(asked: Study) -> Partition:
    """Build the items and ask the study's only model."""
    build(asked)
    (partition,) = SELFKNOWLEDGE.partitions(asked)
    asking.query(SELFKNOWLEDGE, partition, SELFKNOWLEDGE.tasks(asked, partition.spec))
    return partition


def requests(partition: Partition) -> list[dict[str, Any]]:
    """Return what was sent, from the journals."""
    paths = sorted(partition.folder.glob("journal-*.jsonl"))
    records = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
    return [json.loads(record["request_json"]) for record in records if "request_json" in record]


def test_a_study_runs_from_items_to_estimates(tmp_path: Path) -> None:
    asked = study(tmp_path, f"{EVERY}\nlimit = 12")
    assert SELFKNOWLEDGE.expected_rows(asked) == 0 and not SELFKNOWLEDGE.items_current(asked)
    assert plan_study(asked).rows[0].calls == 12 * (4 * 2 + 1)
    partition = ask(asked)
    assert partition.manifest()["state"] == "complete"
    observed = scoring.observe(SELFKNOWLEDGE, partition)
    assert observed.rows == observed.expected_rows == 12 * 5
    assert set(observed.frame["status"]) == {"ok"} and set(observed.frame["source"]) == {"simulated"}
    dual = observed.frame.filter(pl.col("condition") != "idk")
    assert dual["confidence"].is_not_null().all() and dual["yes"].is_not_null().all()
    assert dual.select(((pl.col("confidence") > 0.5) == (pl.col("yes") == 1)).all()).item()
    assert dict(
        observed.frame.group_by("condition").agg(pl.col("wording").n_unique()).iter_rows()
    ) == dict.fromkeys(SELFKNOWLEDGE.conditions(asked), 1)
    found = scoring.estimate(SELFKNOWLEDGE, partition)
    assert {"accuracy", "d_type2", "raw_alignment"} <= set(found["measure"])
    assert scoring.stale(SELFKNOWLEDGE, partition) == ()
    assert plan_study(asked).rows[0].to_ask == 0


def test_another_rule_reads_kept_answers_again_and_asks_nothing(tmp_path: Path) -> None:
    partition = ask(study(tmp_path, "limit = 10", MODEL.replace("d_type2 = 3.0", "sloppiness = 1.0")))
    sent = len(requests(partition))
    marks = {SELFKNOWLEDGE.fingerprint(partition)}
    for rules in ('yes_no = "reference"', 'yes_no = "strict"', 'matching = "exact_match"'):
        other = ask(
            study(tmp_path, f"limit = 10\n{rules}", MODEL.replace("d_type2 = 3.0", "sloppiness = 1.0"))
        )
        marks.add(SELFKNOWLEDGE.fingerprint(other))
        frame = scoring.observe(SELFKNOWLEDGE, other).frame
        assert set(frame["yes_no" if "yes_no" in rules else "matching"]) == {rules.split('"')[1]}
        assert len(requests(other)) == sent
    assert len(marks) == 4


def test_other_words_decoding_or_length_ask_again(tmp_path: Path) -> None:
    first = ask(study(tmp_path, "limit = 2"))
    assert {
        (each["sampling"]["temperature"], each["sampling"]["max_tokens"]) for each in requests(first)
    } == {(0.0, 32)}
    (tmp_path / "words.toml").write_text("[en]\ndirect = 'Say: {question}'\n", "utf-8")
    worded = requests(ask(study(tmp_path, 'limit = 2\nwording = "words.toml"')))
    new = [each for each in worded if str(each["messages"][0][1]).startswith("Say: ")]
    assert len(new) == 2 and len(worded) == len(requests(first))
    shipped = ask(study(tmp_path, 'limit = 2\ndecoding = "checkpoint"'))
    assert requests(shipped)[-1]["sampling"]["temperature"] is None
    longer = ask(study(tmp_path, "limit = 2", MODEL.replace('"simulated"', '"simulated"\nmax_tokens = 64')))
    assert requests(longer)[-1]["sampling"]["max_tokens"] == 64


def test_the_same_observer_answers_alike_in_process_and_behind_a_server(tmp_path: Path) -> None:
    section = 'limit = 6\nlanguages = ["en", "ko"]'
    here = ask(study(tmp_path, section))
    inside = scoring.observe(SELFKNOWLEDGE, here).frame
    simulated = here.study
    voices = respondents(simulated)
    with ServerThread(lambda model, request: voices["knowing"](request)) as server:
        there = tmp_path / "http"
        there.mkdir()
        row = MODEL.split("observer")[0].replace('"simulated"', '"openai"')
        row += f'model = "knowing"\nbase_url = "{server.url}/v1"\nprice_in = 0\nprice_out = 0\n'
        asked = study(there, section, row)
        outside = scoring.observe(SELFKNOWLEDGE, ask(asked)).frame
    kept = [
        "item_id",
        "condition",
        "output",
        "meta_output",
        "correct",
        "yes",
        "abstained",
        "confidence",
        "status",
    ]
    assert outside.select(kept).equals(inside.select(kept))


def test_a_larger_limit_only_adds(tmp_path: Path) -> None:
    names = []
    for limit in (3, 6):
        asked = study(tmp_path, f"limit = {limit}")
        build(asked)
        names.append([item.item_id for item in items(asked)])
    assert names[1][:3] == names[0] or set(names[0]) < set(names[1])


def test_conditions_follow_languages_and_idk(tmp_path: Path) -> None:
    def conditions(section: str) -> tuple[str, ...]:
        return SELFKNOWLEDGE.conditions(study(tmp_path, section))

    assert conditions("") == ("dual", "idk")
    assert conditions("idk = false") == ("dual",)
    assert conditions('languages = ["ko", "en"]') == ("dual_ko", "dual", "idk")
    assert conditions('languages = ["zh", "es"]') == ("dual_zh", "dual_es")


def test_own_words_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="cannot be read"):
        wording(study(tmp_path, 'wording = "none.toml"'))


def test_items_that_are_not_built_yet_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not built yet"):
        items(study(tmp_path))


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ('dataset = "trivia"', "trivia_qa"),
        ('languages = ["en", "fr"]', "languages"),
        ('languages = ["en", "en"]', "twice"),
        ("languages = []", "languages"),
        ('languages = ["zh"]\nidk = true', "English only"),
        ('dataset = "nq_open"\nlanguages = ["ko"]', "English questions only"),
        ('matching = "fuzzy"', "token_boundary"),
        ('yes_no = "lenient"', "strict"),
        ('decoding = "beam"', "checkpoint"),
        ('idk = "no"', "idk"),
        ('folder = "mine"', "comes with the package"),
        ("limit = 0", "limit"),
        ("limt = 3", 'did you mean "limit"'),
    ],
)
def test_a_section_that_cannot_be_is_refused_in_one_line(section: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError) as refused:
        study(tmp_path, section)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_models_answer_in_text_unless_their_row_asks_for_a_choice() -> None:
    def row(**fields: object) -> ModelSpec:
        return ModelSpec.model_validate({"name": "m", "provider": "openai", "model": "x", **fields})

    assert SELFKNOWLEDGE.modes(row()) == ("text",)
    assert SELFKNOWLEDGE.modes(row(answer_mode="json_schema")) == ("text",)
    assert SELFKNOWLEDGE.modes(row(answer_mode="choice")) == ("choice",)
