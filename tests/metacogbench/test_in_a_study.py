"""What a study file can say about MetaCog-Bench. That a study runs is the conformance suite's."""

from pathlib import Path

import pytest

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.benchmarks.metacogbench import MetaCogBench
from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import load_study

HEAD = '[study]\nname = "s"\n\n[[models]]\nname = "careful"\nprovider = "simulated"\n\n[benchmarks.metacogbench]\n'


def bench(folder: Path, section: str = "") -> MetaCogBench:
    (folder / "study.toml").write_text(HEAD + section, "utf-8")
    found: MetaCogBench = MetaCogBench.of(load_study(folder / "study.toml"))
    return found


def test_every_condition_asks_its_tiers(tmp_path):
    asked = bench(tmp_path, 'limit = 3\nconditions = ["free", "json", "json_notes", "one_turn", "delegate"]')
    assert tasks.expected(asked) == 0
    made = construction.build(asked)
    assert {made.facts[tier] for tier in ("1a", "1b", "2a", "2b", "3")} == {3}
    asked_alone = sum(item.tier == "1a" and item.answer is not None for item in asked.items)
    assert tasks.expected(asked) == 15 + 9 + 3 + 3 + asked_alone


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ('set = "metacog41"', "set is now dataset"),
        ('conditions = ["free", "free"]', "twice"),
        ("limit = 0", "limit"),
        ("rounds = 4", "rounds"),
        ('conditions = ["two_turn"]', "one_turn"),
        ('judges = ["strit"]', 'no judge "strit"'),
        ('judges = ["self"]\n\n[[judges]]\nname = "self"\nprovider = "simulated"', "another name"),
    ],
)
def test_a_section_that_cannot_be_is_refused(section, said, tmp_path):
    with pytest.raises(StudyError, match=said):
        bench(tmp_path, section)
