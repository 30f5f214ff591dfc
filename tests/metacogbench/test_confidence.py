"""The confidence reader: first PRE, last ANSWER, last POST; zero is a value."""

from metacog_pipeline.benchmarks.metacogbench.parsing.confidence import read_answer, read_confidence
from tests.tables import every


def test_first_prediction_last_answer_last_confidence():
    stated = read_confidence(
        "PRE_CONFIDENCE: 50\nPRE_CONFIDENCE: 95\nANSWER: a\nANSWER: b\nPOST_CONFIDENCE: 1\nPOST_CONFIDENCE: 2"
    )
    assert (stated.pre, stated.answer, stated.post) == (50, "b", 2)


def test_an_invalid_value_gives_way_to_a_valid_one():
    assert read_confidence("PRE_CONFIDENCE: 150\nPRE_CONFIDENCE: 60").pre == 60


@every(
    ("said", "value"),
    [
        ("0", 0),
        ("1", 1),
        ("1.0", 100),
        ("0.8", 80),
        (".65", 65),
        ("0,5", 50),
        ("0.5%", 0.5),
        ("4/5", 80),
        ("85 ± 5", 85),
        ("80-90", 85),
        ("~70", 70),
        ("fifty-fifty", 50),
        ("ninety percent", 90),
        ("３０％", 30),
        ("high", None),
        ("-3", None),
    ],
)
def test_formats(said, value):
    assert read_confidence(f"PRE_CONFIDENCE: {said}\nANSWER: x").pre == value


def test_order_is_reported():
    assert read_confidence("PRE_CONFIDENCE: 5\nANSWER: x").order_ok is True
    assert read_confidence("ANSWER: x\nPRE_CONFIDENCE: 5").order_ok is False
    assert read_confidence('{"answer": "x", "pre_confidence": 5}').order_ok is False
    assert read_confidence("ANSWER: x").order_ok is None


def test_an_answer_ends_where_the_next_label_begins():
    assert read_confidence("ANSWER: Nile POST_CONFIDENCE: 5").answer == "Nile"
    assert read_answer("ANSWER: Nile; BET: 5") == "Nile"


def test_echoed_placeholders_are_no_answers():
    assert read_confidence("ANSWER: <your answer>").answer is None
    assert read_confidence("ANSWER: <your answer>\nANSWER: Nile").answer == "Nile"


@every("said", ["<percentage from 0 to 100>", "[0-100]", "0 to 100", "0.0-1.0", "between 0 and 100%"])
def test_the_whole_scale_is_no_confidence(said):
    stated = read_confidence(f"PRE_CONFIDENCE: {said}\nANSWER: 3\nPOST_CONFIDENCE: {said}")
    assert (stated.pre, stated.answer, stated.post) == (None, "3", None)
