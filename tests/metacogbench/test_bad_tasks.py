"""A file of tasks or cues that cannot be used is refused: the file, the task or the cue, and what to do."""

import pytest

from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of, read_texts, to_toml
from metacog_pipeline.benchmarks.metacogbench.items import Item, Option, changed
from metacog_pipeline.benchmarks.metacogbench.lexicon import load_lexicon, shipped_lexicon
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.examples import can_match
from metacog_pipeline.errors import SourceError, StudyError


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


@pytest.mark.parametrize("regex", ["however$but", "a(?!.)b", "x^y", "(?=a)b"])
def test_a_cue_that_never_matches_is_refused(regex, tmp_path):
    path = tmp_path / "cues.toml"
    path.write_text(f"extends = true\n[[caution]]\nid = 'mine'\nregex = '{regex}'\n", encoding="utf-8")
    with pytest.raises(StudyError, match=r"cue 'mine' .* no text was found"):
        load_lexicon(path)


def test_for_every_cue_that_comes_with_the_package_a_text_is_found():
    missed = [cue.id for cues in shipped_lexicon().cues.values() for cue in cues if not can_match(cue.regex)]
    assert missed == []
