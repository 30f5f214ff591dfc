"""The screen nominates stems that point at something absent, and leaves alone what is in the text."""

from metacog_pipeline.benchmarks.metamedqa import construction
from metacog_pipeline.benchmarks.metamedqa.construction.rules import (
    cues,
    lacks_laboratory,
    mentions_absent_media,
)
from metacog_pipeline.home import Home
from tests.tables import every


@every(
    ("name", "stem"),
    [
        ("media_shown", "He faints twice. An ECG is shown. What is next?"),
        ("media_shown", "A photograph of his left hand, taken on arrival, is provided. What is it?"),
        ("media_shown", "An x‑ray of the chest is shown. Why?"),
        ("shown_here", "The tumor looked as shown below. What is it?"),
        ("shown_here", "The organism seen in the image is grown. Which?"),
        ("figure_ref", "The pressures are given in Figure 2. Which valve?"),
        ("figure_ref", "He has a mass [Figure]. What is it?"),
        ("see_image", "She has spots (see image). Why?"),
        ("media_below", "The picture below comes from his eye. What is it?"),
        ("in_media", "Which structure in the graph rises?"),
        ("pointer", "Which cell is marked by an arrow?"),
        ("graph_point", "Which is true at point C?"),
        ("lost_context", "For the case above, what is next?"),
        ("broken_table", "Sodium $$$ 140 $$$ potassium. What is next?"),
        ("result_missing", "Laboratory tests and an ECG are found. What is next?"),
    ],
)
def test_each_class_fires_on_its_cue(name, stem):
    assert name in cues(stem)


@every(
    "stem",
    [
        "A 40-year-old man has a cough. His chest x-ray shows a mass. What is next?",
        "Laboratory results are shown: sodium 140 mEq/L. What is next?",
        "Her results are shown below: Na 130 mEq/L, K 4 mEq/L. What is next?",
        "He points at his chest and says it hurts. What is next?",
        "He has shown no interest in food. What is next?",
        "A picture of health until today, she now faints. Why?",
        "Treatment is provided by a nurse. What is next?",
    ],
)
def test_data_in_the_text_and_everyday_words_are_left_alone(stem):
    assert cues(stem) == {}


def test_announced_laboratory_values_must_follow():
    assert lacks_laboratory("Laboratory studies are as follows. What is next?")
    assert lacks_laboratory("Laboratory studies show:\nSodium 140 mEq/L\nWhat is next?")
    both = "Laboratory studies show:\nSodium 140 mEq/L\nHemoglobin 9 g/dL\nWhat is next?"
    assert not lacks_laboratory(both) and not lacks_laboratory("His sodium is low. What is next?")


def test_results_that_are_not_pictures_are_not_media():
    assert mentions_absent_media("An ECG is shown. Why?")
    assert not mentions_absent_media("In the case above, what is next?")


def test_the_malformed_questions_of_the_sample_are_nominated(tmp_path):
    items = construction.construct(construction.Files(Home(tmp_path), "sample")).items
    malformed = [item for item in items if item.kind == "Bad"]
    assert sum(bool(cues(item.question)) for item in malformed) >= len(malformed) - 1


@every("piece", ["shown in the ", "image ", "x-ray of the ", "labs ", "figure marked ", "a"])
def test_a_long_hostile_stem_does_not_stall_the_screen(piece):
    stem = piece * (20_000 // len(piece))
    assert len(cues(stem)) < 4 and not lacks_laboratory(stem)
