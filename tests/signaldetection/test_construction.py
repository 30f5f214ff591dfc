"""Building the three tasks: the word, its deletion, the draw, and what holds for every built item."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.signaldetection.construction import (
    build,
    input_digests,
    texts,
    wanted,
)
from metacog_pipeline.benchmarks.signaldetection.construction.deletion import can_be_asked, delete, matches
from metacog_pipeline.benchmarks.signaldetection.construction.invariants import violations
from metacog_pipeline.benchmarks.signaldetection.construction.tasks import (
    build_task_a,
    build_task_b,
    build_task_c,
)
from metacog_pipeline.benchmarks.signaldetection.construction.texts import Texts
from metacog_pipeline.benchmarks.signaldetection.items import Item
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.files import sha256_hex
from tests.signaldetection.scored import bound, construct
from tests.tables import every

# --- the word ----------------------------------------------------------------------------------------------------

HOLDS = [
    ("the", [0]),
    ("The cat", [0]),
    ("THE tHe thE", [0, 4, 8]),
    ("in the end.", [3]),
    ("(the)", [1]),
    ("the-the", [0, 4]),
    ("the's 1the2 _the_", [0, 7, 13]),
    ("éthe theé ſthe theſ \u212athe ıthe", [1, 5, 11, 15, 21, 26]),  # long s, Kelvin sign, dotless i
    ("\tthe\n", [1]),
    ("thethe the", [7]),
]
LACKS = ["", "then", "other", "bathe", "thé", "t he", "ｔｈｅ", "thethe", "theX", "Zthe", "teh"]


@every(("sentence", "starts"), HOLDS)
def test_word_is_three_letters_without_an_ascii_letter_beside_them(sentence, starts):
    assert matches(sentence) == [(start, start + 3) for start in starts]


@every("sentence", LACKS)
def test_word_is_not_part_of_another(sentence):
    assert matches(sentence) == [] and not can_be_asked(sentence)


def test_a_sentence_of_nothing_else_is_not_asked():
    assert not can_be_asked("the") and not can_be_asked(" The\n")
    assert can_be_asked("the.") and can_be_asked("the the")


DELETED = [
    ("The cat sat.", 0, "cat sat."),
    ("In the end.", 0, "In end."),
    ("the cat and the dog", 1, "the cat and dog"),
    ("Is this the ?", 0, "Is this?"),
    ("one the , two ; three : four .", 0, "one, two; three: four."),
    ("a  wide   gap in the road", 0, "a wide gap in road"),
    ("tab\t\tthe\nline", 0, "tab line"),
    ("keep \t one the ! )", 0, "keep one!)"),
    ("a quote “the ” (  the )", 1, "a quote “the ” ()"),
    ("single\tspace\nkept the end", 0, "single\tspace\nkept end"),
    ("go to the", 0, "go to"),
    ("the-best", 0, "-best"),
    ("wide\u00a0\u2003the gap", 0, "wide gap"),
]


@every(("sentence", "which", "left"), DELETED)
def test_deletion_takes_one_word_and_tidies_white_space(sentence, which, left):
    assert delete(sentence, matches(sentence)[which]) == left


WORDS = st.lists(
    st.sampled_from(
        ["the", "The", "THE", "cat", "then", "a", ",", ".", " ", "  ", "\t", "\n", "(", ")", "-", "é", "5"]
    ),
    min_size=1,
    max_size=20,
).map("".join)


@settings(max_examples=200, deadline=None)
@given(WORDS, st.data())
def test_deletion_removes_the_chosen_letters_and_white_space_only(sentence, data):
    places = matches(sentence)
    if not places:
        return
    start, end = data.draw(st.sampled_from(places))
    left = delete(sentence, (start, end))
    squeezed = "".join((sentence[:start] + sentence[end:]).split())
    assert "".join(left.split()) == squeezed
    assert left == left.strip() and not re.search(r"\s\s|\s[,;:.!?)]", left)


# --- the draw and the tasks --------------------------------------------------------------------------------------


def test_items_of_a_and_b_are_rows_of_their_source_byte_for_byte(reviews, sentences):
    spaced = Texts("x", [0, 1] * 30, [f" odd  spacing , {n} " for n in range(60)])
    for source, made in (
        (reviews, build_task_a(reviews, 50, 1)),
        (sentences, build_task_b(sentences, 50, 1)),
        (spaced, build_task_a(spaced, 50, 1)),
    ):
        assert len({item.source_row for item in made}) == 50
        for item in made:
            assert item.text == source.sentences[item.source_row]
            assert item.stimulus == source.labels[item.source_row]
            assert item.source == source.name


def test_items_of_c_are_unchanged_or_lack_one_word(sentences):
    made = build_task_c(sentences, 200, 2)
    assert len(made) == sum(bool(matches(text)) for text in sentences.sentences) > 100
    for item in made:
        whole = sentences.sentences[item.source_row].strip()
        if item.stimulus == 0:
            assert item.text == whole
        else:
            assert item.text in [delete(whole, place) for place in matches(whole)]


def test_half_of_c_is_changed_and_every_place_has_its_chance():
    source = Texts("x", [n % 2 for n in range(6000)], [f"the {n} the b the c" for n in range(6000)])
    made = build_task_c(source, 6000, 0)
    changed = [item for item in made if item.stimulus == 1]
    assert abs(len(changed) - 3000) < 5 * 38.7
    starts = [sum(delete(source.sentences[i.source_row], matches(source.sentences[i.source_row])[k]) == i.text
                  for i in changed) for k in range(3)]  # fmt: skip
    assert sum(starts) == len(changed) and all(abs(n - len(changed) / 3) < 5 * 26 for n in starts)
    assert {item.source_row % 2 for item in changed} == {0, 1}, (
        "the origin of a sentence does not matter in C"
    )


def test_unchanged_texts_keep_their_spacing():
    source = Texts("x", [0, 1] * 200, [f"  keep  the {n} , as  it is .  " for n in range(400)])
    for item in build_task_c(source, 400, 0):
        if item.stimulus == 0:
            assert item.text == f"keep  the {item.source_row} , as  it is ."
        else:
            assert item.text == f"keep {item.source_row}, as it is."


@pytest.mark.parametrize("seed", [0, 1, 2**24 - 1])
def test_more_trials_add_items_and_change_none(seed, reviews, sentences):
    few = build(reviews, sentences, trials=20, seed=seed)
    many = build(reviews, sentences, trials=77, seed=seed)
    assert [item for item in many if item.position < 20] == few
    assert len(few) == 60 and len(many) == 231


def test_seeds_draw_other_rows_and_delete_elsewhere(sentences):
    one, two = (build_task_c(sentences, 500, seed) for seed in (0, 1))
    assert [i.source_row for i in one] != [i.source_row for i in two]
    by_row = {item.source_row: item for item in two}
    assert {i.source_row for i in one} == set(by_row)
    assert sum(by_row[item.source_row].text != item.text for item in one) > 30
    assert all(by_row[item.source_row].item_id == item.item_id for item in one)


def test_ids_name_data_set_task_and_row_and_never_meet(reviews, sentences):
    made = build(reviews, sentences, trials=9) + build(reviews, sentences, dataset="sample", trials=9)
    assert len({item.item_id for item in made}) == len(made)
    for item in made:
        prefix = "sdt" if item.dataset == "published" else "sample-sdt"
        assert item.item_id == f"{prefix}-{item.task}-{item.source_row:06d}"


def test_a_source_with_fewer_rows_gives_all_it_has():
    source = Texts("x", [0, 1, 1], ["a", "b", "the c"])
    assert [len(build_task_a(source, 100, 0)), len(build_task_c(source, 100, 0))] == [3, 1]
    assert build_task_a(source, 0, 0) == []


def test_tasks_that_are_not_asked_need_no_source(reviews, sentences):
    assert {i.task for i in build(reviews, None, tasks=("A",), trials=5)} == {"A"}
    assert {i.task for i in build(None, sentences, tasks=("C",), trials=5)} == {"C"}


def test_the_draw_is_uniform_over_rows():
    source = Texts("x", [0, 1] * 50, [f"s{n}" for n in range(100)])
    times = [0] * 100
    for seed in range(400):
        for item in build_task_a(source, 10, seed):
            times[item.source_row] += 1
    # Each row is drawn Binomial(400, 0.1) times: chi-square with 99 degrees of freedom, far tail.
    chi2 = sum((n - 40) ** 2 / 36 for n in times)
    assert 50 < chi2 < 165


def changed(item: Item, **changes: object) -> Item:
    return item.model_copy(update=changes)


# --- invariants --------------------------------------------------------------------------------------------------


def test_built_items_hold_every_rule(reviews, sentences):
    for seed in range(5):
        assert violations(build(reviews, sentences, trials=500, seed=seed), [reviews, sentences]) == []


def broken(items: list[Item], task: str, changed: dict[str, object]) -> tuple[list[Item], str]:
    """Change the first item of a task (with the label ``of``, where given); return all items and its id."""
    changes = {key: value for key, value in changed.items() if key != "of"}
    place = next(
        i
        for i, item in enumerate(items)
        if item.task == task and item.stimulus == changed.get("of", item.stimulus)
    )
    out = list(items)
    out[place] = out[place].model_copy(update=changes)
    return out, items[place].item_id


@pytest.mark.parametrize(
    ("rule", "task", "changed"),
    [
        ("I2", "A", {"position": 5}),
        ("I3", "B", {"text": " "}),
        ("I3", "A", {"stimulus": 2}),
        ("I4", "A", {"text": "other"}),
        ("I4", "B", {"of": 1, "stimulus": 0}),
        ("I4", "A", {"source_row": 99999}),
        ("I4", "A", {"source": "elsewhere"}),
        ("I5", "C", {"of": 1, "stimulus": 0}),
        ("I6", "C", {"of": 0, "stimulus": 1}),
        ("I6", "C", {"of": 1, "text": "the other"}),
    ],
)
def test_every_rule_is_seen_when_broken(rule, task, changed, reviews, sentences):
    made = build(reviews, sentences, trials=30)
    wrong, name = broken(made, task, changed)
    found = violations(wrong, [reviews, sentences])
    assert any(line.startswith(rule) and (name in line or rule == "I2") for line in found)


def test_repeated_ids_and_rows_are_seen(reviews):
    made = build_task_a(reviews, 3, 0)
    assert any(line.startswith("I1") for line in violations([*made, changed(made[0], position=3)], [reviews]))
    again = changed(made[0], position=3, item_id="other")
    assert any("drawn 2 times" in line for line in violations([*made, again], [reviews]))


# --- the steps ---------------------------------------------------------------------------------------------------


def test_the_sample_is_built_and_the_same_bytes_every_time(tmp_path):
    built = construct(tmp_path / "1", "sample", trials=30, seed=4)
    assert sum(built.counts.values()) == len(built.items) == 90
    again = construct(tmp_path / "2", "sample", trials=30, seed=4)
    assert again.items == built.items
    assert set(input_digests(bound(tasks='["A", "C"]'))) == {"sst2", "test4plus"}
    assert input_digests(bound(tmp_path / "3", dataset='"published"', tasks='["A"]')) == {}


def test_items_are_those_of_version_01(tmp_path):
    items = construct(tmp_path, "sample", trials=100, seed=0).items
    hashes = "".join(f"{item.item_id}{item.item_hash}" for item in items)
    assert sha256_hex(hashes) == "4e2d43e1316ef7471e733b14b3106f6a1d49e9b896ae25a01fe80febdb608832"


def test_sources_that_are_not_home_are_named(tmp_path):
    with pytest.raises(MetacogError, match="metacog doctor STUDY --fetch"):
        texts(bound(tmp_path, dataset='"published"', tasks='["B"]'))
    assert bound(dataset='"published"', tasks='["B", "C"]').needed_sources() == ("test4plus",)
    assert bound().needed_sources() == () and wanted("A") == ("sst2",)
