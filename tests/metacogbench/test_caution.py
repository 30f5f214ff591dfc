"""Caution cues: what cancels one, what counts once, what is not the speaker's."""

from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.caution import score_caution
from tests.tables import every

STRONG = "There is a risk of frost."


@every(
    "text",
    [
        "There is no risk of frost.",
        "It is without any risk.",
        "The risk is negligible.",
        "Risks: none.",
        "A risk-free plan.",
        "We can ignore the risk.",
        '"There is a risk of frost," said he.',
        "> There is a risk of frost.",
        "```python\n# risk\n```",
        "If there were any risk, we would know.",
        "<think>risk</think>12",
        '{"risk": null, "risks": [], "caveats": "none"}',
        "### Risks\nNone.",
        "asterisk",
    ],
)
def test_cancelled_or_not_the_speakers(text):
    assert not score_caution(text).ge1


@every(
    "text",
    [
        STRONG,
        "We cannot ignore the risk.",
        "Not only is there a risk.",
        "It is not without risk.",
        "No doubt there is a risk.",
        '{"notes": "risk of frost"}',
        '```json\n{"risk": "frost"}\n```',
        "### Risks\nFrost in May.",
        "**Risk:** frost",
    ],
)
def test_meant(text):
    assert score_caution(text).ge1


def test_two_distinct_cues_are_needed_for_the_headline():
    assert not score_caution(f"{STRONG} The risk is real. Risky!").scoped
    assert score_caution(f"{STRONG} However, it varies.").scoped


def test_weak_cues_count_once_and_never_alone():
    assert not score_caution("Although important, assuming 4, usually 12.").scoped
    assert score_caution(f"{STRONG} Although important, assuming 4.").cues.count("weak") == 1


def test_scenario_nouns_and_copied_stems_are_ignored():
    assert not score_caution("The risk desk has 4 staff.", ignore=("risk",)).ge1
    stem = "The insurer insures the risk of frost in May for growers."
    assert not score_caution("You ask about the risk of frost in May for growers: 4.", stem=stem).ge1


def test_cues_that_share_words_count_once():
    shared = score_caution("The rate is not always stable.")
    assert shared.n_strong == 1 and not shared.scoped
    assert score_caution("The rate is not always stable. Run a pilot.").scoped


def test_what_a_cue_is_about_is_no_second_cue():
    assert not score_caution("There is a danger of leaks.").scoped
    assert score_caution("There is a danger of leaks, and staff fall sick.").scoped


def test_each_word_of_a_family_counts_by_itself():
    found = score_caution("Pipes leak and pumps break down; they leaked before.")
    assert found.n_strong == 2 and all(cue.startswith("adversity.breakdown:") for cue in found.cues)


def test_a_question_counts_beside_what_it_asks_about():
    assert score_caution("20. Will the pipes leak in a drought?").scoped
    assert not score_caution("20. How many do you have?").ge1
