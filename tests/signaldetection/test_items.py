"""The three tasks: sources that arrive verified, the word and its deletion, the draw, what every item holds."""

import pytest

from metacog_pipeline.benchmarks.signaldetection import items as own
from metacog_pipeline.benchmarks.signaldetection.items import (
    Texts,
    build,
    can_be_asked,
    delete,
    matches,
    read_table,
    texts_of,
    wanted,
)
from metacog_pipeline.benchmarks.signaldetection.settings import PAPER, Settings
from metacog_pipeline.errors import MetacogError, SourceError
from metacog_pipeline.home import Home
from tests.signaldetection.scored import bound, construct
from tests.tables import every

LINES = "".join(f"{n % 2}\tSentence {n} of the é file.\n" for n in range(300)).encode()


# --- the word -----------------------------------------------------------------------------------------------------
HOLDS = [
    ("the", [0]), ("The cat", [0]), ("THE tHe thE", [0, 4, 8]), ("(the)", [1]), ("the-the", [0, 4]),
    ("the's 1the2 _the_", [0, 7, 13]), ("\tthe\n", [1]), ("thethe the", [7]),
    ("éthe theé ſthe theſ \u212athe ıthe", [1, 5, 11, 15, 21, 26]),  # long s, Kelvin sign, dotless i
]  # fmt: skip
LACKS = ["", "then", "other", "bathe", "thé", "t he", "ｔｈｅ", "thethe", "theX", "Zthe", "teh"]
DELETED = [
    ("The cat sat.", 0, "cat sat."), ("In the end.", 0, "In end."), ("the cat and the dog", 1, "the cat and dog"),
    ("Is this the ?", 0, "Is this?"), ("one the , two ; three : four .", 0, "one, two; three: four."),
    ("a  wide   gap in the road", 0, "a wide gap in road"), ("tab\t\tthe\nline", 0, "tab line"),
    ("a quote “the ” (  the )", 1, "a quote “the ” ()"), ("single\tspace\nkept the end", 0, "single\tspace\nkept end"),
    ("go to the", 0, "go to"), ("the-best", 0, "-best"), ("wide\u00a0\u2003the gap", 0, "wide gap"),
]  # fmt: skip


def test_the_word_is_three_letters_without_an_ascii_letter_beside_them():
    for sentence, starts in HOLDS:
        assert matches(sentence) == [(start, start + 3) for start in starts], sentence
    for sentence in LACKS:
        assert matches(sentence) == [] and not can_be_asked(sentence), sentence
    assert not can_be_asked("the") and not can_be_asked(" The\n") and can_be_asked("the.")


@every(("sentence", "which", "left"), DELETED)
def test_deletion_takes_one_word_and_tidies_white_space(sentence, which, left):
    assert delete(sentence, matches(sentence)[which]) == left


# --- the draw and the tasks ---------------------------------------------------------------------------------------
def test_items_of_a_and_b_are_rows_of_their_source_byte_for_byte(reviews, sentences):
    spaced = Texts("x", [0, 1] * 30, [f" odd  spacing , {n} " for n in range(60)])
    for task, source in (("A", reviews), ("B", sentences), ("A", spaced)):
        made = build({own.SOURCE_OF[task]: source}, {task: 50}, 1)
        assert len({item.source_row for item in made}) == 50
        for item in made:
            assert item.text == source.sentences[item.source_row]
            assert item.stimulus == source.labels[item.source_row] and item.source == source.name


def test_half_of_c_is_changed_every_place_has_its_chance_and_unchanged_texts_keep_their_spacing():
    source = Texts("x", [n % 2 for n in range(6000)], [f" the {n} the b , the  c " for n in range(6000)])
    made = build({"test4plus": source}, {"C": 6000})
    changed = [item for item in made if item.stimulus == 1]
    assert abs(len(changed) - 3000) < 5 * 38.7
    whole = [text.strip() for text in source.sentences]
    starts = [
        sum(delete(whole[i.source_row], matches(whole[i.source_row])[k]) == i.text for i in changed)
        for k in range(3)
    ]
    assert sum(starts) == len(changed) and all(abs(n - len(changed) / 3) < 5 * 26 for n in starts)
    assert {item.source_row % 2 for item in changed} == {0, 1}  # the origin does not matter in C
    assert all(item.text == whole[item.source_row] for item in made if item.stimulus == 0)


def test_more_trials_add_items_and_change_none_and_another_seed_draws_others(reviews, sentences, seed=1):
    texts = {"sst2": reviews, "test4plus": sentences}
    few, many = (build(texts, dict.fromkeys("ABC", n), seed) for n in (20, 77))
    assert [item for item in many if item.position < 20] == few
    assert len(few) == 60 and len(many) == 231
    assert len({item.item_id for item in (*many, *build(texts, {"A": 77}, seed, "sample"))}) == 308
    assert {item.item_id for item in build(texts, {"A": 20}, 2)} != {i.item_id for i in few if i.task == "A"}


# --- the study file and the steps -----------------------------------------------------------------------------------
def test_trials_are_one_number_one_for_each_task_or_those_of_the_paper():
    assert Settings(trials=7).trials_of("B") == 7
    each = Settings(trials={"A": 5, "C": 3}, tasks=("A", "C"))
    assert (each.trials_of("A"), each.trials_of("C")) == (5, 3)
    paper = Settings(preset="paper")
    assert (
        {task: paper.trials_of(task) for task in "ABC"}
        == dict(PAPER)
        == {"A": 20_000, "B": 10_000, "C": 10_000}
    )
    for wrong in ({"preset": "paper", "trials": 5}, {"preset": "other"}, {"trials": 1}, {"trials": {"D": 5}}):
        with pytest.raises(ValueError, match=r"preset|trials"):
            Settings(**wrong)
    with pytest.raises(MetacogError, match="names no number for task C"):
        bound(trials="{A = 5, B = 5}")


def test_plan_warns_of_tasks_with_fewer_trials_than_a_difference_of_a_tenth_takes(tmp_path):
    few = list(bound(tmp_path, trials="{A = 20000, B = 50000, C = 100}").advice())
    assert [line.partition(":")[0] for line in few] == ["signaldetection, task C"] and "100 trials" in few[0]
    assert not list(bound(tmp_path, trials="50000").advice())
    assert not list(bound(tmp_path, conditions='["risk_none"]').advice())


def test_tasks_b_and_c_are_built_from_the_published_file_and_a_source_that_is_not_there_is_named(tmp_path):
    with pytest.raises(MetacogError, match="metacog doctor STUDY --fetch"):
        texts_of(bound(tmp_path, dataset='"published"', tasks='["B"]'))
    assert bound(dataset='"published"', tasks='["B", "C"]').needed_sources() == ("test4plus",)
    assert bound().needed_sources() == () and wanted("A") == ("sst2",)
    (tmp_path / "Test4Plus_Raw.txt").write_bytes(LINES)
    own.fetch(Home(tmp_path), ["test4plus"], folder=tmp_path)
    built = construct(tmp_path, "published", tasks="BC", trials=200, seed=2)
    assert sum(built.counts.values()) == 400 and min(built.counts.values()) > 60


# --- sources --------------------------------------------------------------------------------------------------------
@pytest.fixture
def folder(tmp_path):
    (tmp_path / "from" / "deep").mkdir(parents=True)
    (tmp_path / "from" / "deep" / "Test4Plus_Raw.txt").write_bytes(LINES)
    return tmp_path / "from"


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


def test_the_first_file_fetched_pins_the_source_that_has_no_digest(home, folder):
    (first,) = own.fetch(home, ["test4plus"], folder=folder)
    source, path = own.SOURCES["test4plus"], folder / "deep" / "Test4Plus_Raw.txt"
    path.write_bytes(LINES + b"1\tOne more.\n")
    first.path.write_bytes(b"1\tdamaged\n")
    with pytest.raises(SourceError, match=r"metacog doctor STUDY --fetch|delete"):
        source.load(home)
    with pytest.raises(SourceError, match=r"first fetched here.*delete .*test4plus\.json"):
        source.fetch(home, folder)
    first.path.with_suffix(".json").unlink()
    with pytest.raises(SourceError, match="note with its digest is gone"):
        source.load(home)
    assert source.fetch(home, folder).rows == 301


@every(
    ("data", "where"),
    [
        (b"0\ta\n1\tb\n2\tc\n", ":3"), (b"0 a\n", ":1"), (b"0\ta\n1\t \n", ":2"), (b"0\ta\n1\t\xff\n", ":2"),
        (b"0\ta\n0\tb\n", "label 1"), (b"", "label 0"), (b"\x1f\x8b\x08broken", "cannot be read"),
    ],
)  # fmt: skip
def test_any_wrong_line_is_named(data, where, tmp_path):
    (tmp_path / "x.tsv").write_bytes(data)
    with pytest.raises(SourceError) as caught:
        read_table(tmp_path / "x.tsv", "x")
    assert where in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 400
