"""Fresh items from a seed: equal seeds give equal items, and what is written reads back."""

import pytest

from metacog_pipeline.benchmarks.metacogbench.construction.shipped import read_texts, to_toml
from metacog_pipeline.benchmarks.metacogbench.generators.making import generate
from metacog_pipeline.errors import StudyError


def test_fresh_items_repeat_by_seed_and_read_back(tmp_path):
    path = tmp_path / "seven.toml"
    path.write_text(to_toml(generate("1b", 7), "Tier 1b, seed 7"), encoding="utf-8")
    seven, eight = generate("1b", 7), generate("1b", 8)
    assert [item.item_id for item in read_texts(path)] == [item.item_id for item in seven]
    assert [item.stem for item in read_texts(path)] == [item.stem for item in seven]
    assert sum(a.stem == b.stem for a, b in zip(seven, eight, strict=True)) <= 1


def test_one_generator_can_be_asked_for():
    (only,) = generate("3", 3, generators=["knapsack"])
    assert "best_score" in [field.name for field in only.fields if field.core]
    with pytest.raises(StudyError, match="no generator"):
        generate("3", 3, generators=["x"])
