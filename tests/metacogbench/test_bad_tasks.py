"""A file of tasks that cannot be used is refused: the file, the task, and what to do."""

import pytest

from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of, read_texts, to_toml
from metacog_pipeline.benchmarks.metacogbench.items import Item, Option, changed
from metacog_pipeline.errors import SourceError


def task(tier: str, *, control: bool) -> Item:
    return next(item for item in items_of("metacog147") if item.tier == tier and item.control is control)


def same(item: Item) -> Item:
    return changed(item, options=(Option(item.options[0].role, item.options[1].text), *item.options[1:]))


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (same(task("2b", control=False)), "two options say the same"),
        (changed(task("2b", control=True), control=False), "set control = true"),
        (changed(task("2a", control=False), control=True), "set control = true"),
        (changed(task("2a", control=True), unit=""), "no unit"),
        (changed(task("2b", control=False), right=("act",)), "name the roles"),
        (
            changed(task("2b", control=False), options=task("2b", control=False).options[:2]),
            "give one each of",
        ),
    ],
)
def test_a_task_that_cannot_be_used_is_refused_with_file_and_name(item, said, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(to_toml([item], "mine"), encoding="utf-8")
    with pytest.raises(SourceError) as refused:
        read_texts(path)
    assert (
        "mine.toml" in str(refused.value)
        and item.item_id in str(refused.value)
        and said in str(refused.value)
    )
