"""The parser: a table of replies with what they say, and what holds for every string."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.metamedqa.items import CANNOT_ANSWER, LETTERS, NONE_OF_THE_ABOVE
from metacog_pipeline.benchmarks.metamedqa.parsing import Parsed, parse, read_confidence
from tests.tables import every

OPTIONS = (
    "22q11 deletion",
    "E. coli",
    "Increased glucose",
    "A low-salt diet",
    NONE_OF_THE_ABOVE,
    CANNOT_ANSWER,
)

LISTED = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, OPTIONS, strict=True))

# reply, letter, confidence, rule
READ = [
    ("Answer: C\nConfidence: 4", "C", 4, "declared"),
    ("answer: c\nconfidence: 4", "C", 4, "declared"),
    ("ANSWER:C\nCONFIDENCE:1", "C", 1, "declared"),
    ("  Answer: F  \r\n  Confidence: 5  \r\n", "F", 5, "declared"),
    ("**Answer:** (C)\n**Confidence:** 4", "C", 4, "declared"),
    ("**Answer: C**\n\n**Confidence: 4**", "C", 4, "declared"),
    ("### Answer\nB\n\n### Confidence\n3", "B", 3, "declared"),
    ("*Answer*: `D`\n*Confidence*: `2`", "D", 2, "declared"),
    ("Answer: [E]\nConfidence: [5]", "E", 5, "declared"),
    ("Answer: <A>\nConfidence: <2>", "A", 2, "declared"),
    ("Answer - C\nConfidence - 3", "C", 3, "declared"),
    ("Final answer — C\nConfidence — 3", "C", 3, "declared"),
    ("Answer = B; Confidence = 2", "B", 2, "declared"),
    ("Answer: C. Increased glucose\nConfidence: 4", "C", 4, "declared"),
    ("Answer: C. increased glucose\nConfidence: 4", "C", 4, "declared"),
    ("Answer: C) something else\nConfidence: 4", "C", 4, "declared"),
    ("Answer: C. 5-year survival is unchanged. Confidence: 4", "C", 4, "declared"),
    ("Answer: C.Confidence: 4", "C", 4, "declared"),
    ("Answer: C, Confidence: 4", "C", 4, "declared"),
    ("Answer: C Confidence: 4", "C", 4, "declared"),
    ("Answer: C (4/5)", "C", 4, "declared"),
    ("The correct answer is C.\nMy confidence is 4 out of 5.", "C", 4, "declared"),
    ("The answer is: **C**. Confidence level: 4/5", "C", 4, "declared"),
    ("The answer is C because glucose rises. Confidence score 5", "C", 5, "declared"),
    ("The answer to this question is B.\nConfidence: 2", "B", 2, "declared"),
    ("The best answer is option D\nConfidence: 2", "D", 2, "declared"),
    ("Therefore, the final answer is $\\boxed{C}$. Confidence: 3", "C", 3, "declared"),
    ("The final answer is \\boxed{\\text{C}}\nConfidence: \\boxed{3}", "C", 3, "declared"),
    ("\\textbf{Answer: } C\nConfidence: 3", "C", 3, "declared"),
    ("<answer>C</answer>\n<confidence>4</confidence>", "C", 4, "declared"),
    ("<think>Is the answer B? No: answer: B fails.</think>\nAnswer: C\nConfidence: 4", "C", 4, "declared"),
    ("Answer: A\nWait, I was wrong.\nAnswer: D\nConfidence: 2", "D", 2, "declared"),
    ("Confidence: 2\nOn reflection...\nAnswer: D\nConfidence: 4", "D", 4, "declared"),
    ("Answer: C. The answer is not B.\nConfidence: 4", "C", 4, "declared"),
    ("Answer: C, not B.\nConfidence: 4", "C", 4, "declared"),
    ("Answer: C, because A and B are wrong.\nConfidence: 4", "C", 4, "declared"),
    ("Answer: C, C\nConfidence: 4", "C", 4, "declared"),
    ("Answer: E (None of the above)\nConfidence: 5 - absolutely sure", "E", 5, "declared"),
    ("Answer (A-F): C\nConfidence (1-5): 4", "C", 4, "declared"),
    ("Answer：Ｃ\nConfidence：４", "C", 4, "declared"),
    ("Ａｎｓｗｅｒ: Ⓒ\nConfidence: ④", "C", 4, "declared"),
    ("Answer:\u00a0C\u2028Confidence:\u00a04", "C", 4, "declared"),
    ("\ufeffAn\u200bswer: \u200eC\u200f\n\u202eConfidence: 4\u202c", "C", 4, "declared"),
    ("Answer:\x00C\x00\nConfidence: 4\x00", "C", 4, "declared"),
    ("Answer: C\nConfidence: 5\ufe0f\u20e3", "C", 5, "declared"),
    ("Answer: \ud800C\nConfidence: 4 \udfff", "C", 4, "declared"),
    ("1. Answer: C\n2. Confidence: 4 (1-5)", "C", 4, "declared"),
    ("ANSWER C CONFIDENCE 3", "C", 3, "declared"),
    ("Answer: C\nConfidence: 4\n\nThe answer A is wrong because the answer B is, too.", "C", 4, "declared"),
    ("{'answer': 'C', 'confidence': 4}", "C", 4, "declared"),
    ("{answer: C, confidence: 4}", "C", 4, "declared"),
    (f"{LISTED}\n\nAnswer: B\nConfidence: 3", "B", 3, "declared"),
    ("I don't know or cannot answer\n\nAnswer: E\nConfidence: 2", "E", 2, "declared"),
    ("Answer: <b>D</b>\nConfidence: <b>4</b>", "D", 4, "declared"),
    ("<b>Answer:</b> D<br><strong>Confidence:</strong> 4", "D", 4, "declared"),
    ("<p><b><i>Answer: D</i></b></p>\n<p>Confidence: 4</p>", "D", 4, "declared"),
    ("Answer: <b>\nConfidence: <4>", "B", 4, "declared"),
    ("| Answer | B |\n| Confidence | 4 |", "B", 4, "declared"),
    ("| **Answer** | **B** |\n| **Confidence** | **4** |", "B", 4, "declared"),
    ("Answer: B | Confidence: 4", "B", 4, "declared"),
    ("Answer: C\nConfidence: High (4/5)", "C", 4, "declared"),
    ("Answer: C\nConfidence: fairly high, 4 out of 5", "C", 4, "declared"),
    ("I'm not sure but my answer is C.\nConfidence: 1", "C", 1, "declared"),
    ('{"answer": "C", "confidence": 4}', "C", 4, "json"),
    ('```json\n{\n  "answer": "C",\n  "confidence": 4\n}\n```', "C", 4, "json"),
    ('Here you are: {"Answer": "c", "Confidence": "4"} Thanks!', "C", 4, "json"),
    ('{"result": {"answer": "B", "confidence": 1}}', "B", 1, "json"),
    ('{"meta": {"model": "x"}, "answer": "B", "confidence": 1}', "B", 1, "json"),
    ('{"reasoning": "The answer is A.", "answer": "B", "confidence": 1}', "B", 1, "json"),
    ('{"answer": "A", "confidence": 1}\n{"answer": "B", "confidence": 5}', "B", 5, "json"),
    ('{"answer": "C. Increased glucose", "confidence": "4/5"}', "C", 4, "json"),
    ('{"answer": "\\u0043", "confidence": 4}', "C", 4, "json"),
    ('{"answer": ["D"], "confidence": 4}', "D", 4, "json"),
    ('{"answer": "C"}\nConfidence: 2', "C", 2, "json"),
    ('{"answer": "C", "confidence": 4} although answer: B', "C", 4, "json"),
    ("(C)\nConfidence: 4", "C", 4, "letter"),
    ("C\nConfidence: 4", "C", 4, "letter"),
    ("C. Increased glucose\nConfidence: 4", "C", 4, "first_line"),
    ("C) Increased glucose\n\nConfidence: 4/5", "C", 4, "first_line"),
    ("c: increased glucose\nconfidence: 1", "C", 1, "first_line"),
    ("**B. E. coli**\nConfidence: 3", "B", 3, "first_line"),
    ("None of the above\nConfidence: 2", "E", 2, "option_text"),
    ("“I don’t know or cannot answer.”\nConfidence: 1", "F", 1, "option_text"),
]

# reply, letter, what the reason says
WITHOUT_CONFIDENCE = [
    ("C", "C", "no confidence"),
    ("c.", "C", "no confidence"),
    ("**C**", "C", "no confidence"),
    ("$\\boxed{\\text{C}}$", "C", "no confidence"),
    ("E. coli\n", "B", "no confidence"),
    ("none  OF the above", "E", "no confidence"),
    ("Answer: C", "C", "no confidence"),
    ("Answer: C\n4", "C", "no confidence"),
    ("Answer: C\nConfidence: high", "C", "no confidence"),
    ("Answer: C\nConfidence: four", "C", "no confidence"),
    ("Answer: C\nConfidence: ٤", "C", "no confidence"),
    ("Answer: C\nConfidence: 7", "C", "confidence 7 is outside 1–5"),
    ("Answer: C\nConfidence: 0", "C", "confidence 0 is outside 1–5"),
    ("Answer: C\nConfidence: 6", "C", "confidence 6 is outside 1–5"),
    ("Answer: C\nConfidence: 45", "C", "confidence 45 is outside 1–5"),
    ("Answer: C\nConfidence: -3", "C", "not an integer"),
    ("Answer: C\nConfidence: 4.5", "C", "confidence 4.5 is not an integer"),
    ("Answer: C\nConfidence: 4,5", "C", "confidence 4,5 is not an integer"),
    ("Answer: C\nConfidence: 4.0", "C", "not an integer"),
    ("Answer: C\nConfidence: 80%", "C", "percentage"),
    ("Answer: C\nConfidence: 4 %", "C", "percentage"),
    ("Answer: C\nConfidence: 80 percent", "C", "percentage"),
    ("Answer: C\nConfidence: 0.8", "C", "not an integer"),
    ("Answer: C\nConfidence: 4/10", "C", "another scale"),
    ("Answer: C\nConfidence: 4 out of 10", "C", "another scale"),
    ("Answer: C\nConfidence: 4 (on a scale of 1-10)", "C", "another scale"),
    ("Answer: C\nConfidence: 4 (out of 100)", "C", "another scale"),
    ("Answer: C\nConfidence: ½", "C", "another scale"),
    ("Answer: C\nConfidence: 3-4", "C", "range"),
    ("Answer: C\nConfidence: 3 or 4", "C", "range"),
    ("Answer: C\nConfidence: 4\nConfidence: 9", "C", "outside"),
    ("Answer: C\nConfidence: 4th", "C", "not an integer"),
    ("Answer: C\nConfidence: " + "9" * 5000, "C", "outside"),
    ('{"answer": "C", "confidence": 4.0}', "C", "not an integer"),
    ('{"answer": "C", "confidence": true}', "C", "not a number"),
    ('{"answer": "C", "confidence": 6}', "C", "outside"),
    ('{"answer": "C", "confidence": NaN}', "C", "no confidence"),
    ("Answer: C. Muscle strength was 4/5 on the left.", "C", "no confidence"),
    ("Answer: C. The 95% confidence interval was 2 to 4.", "C", "no confidence"),
]

UNREAD = [
    "",
    " \n\t\r\n",
    "A patient with fever should be seen.",
    "I am not sure.",
    "I'm sorry, but I cannot help with medical questions.",
    "Sorry, I cannot answer this question.",
    "I cannot answer A",
    "As an assistant I do not know.",
    "The answer is a matter of debate.",
    "The answer is A patient-centred approach.",
    "Answer: A low-salt diet\nConfidence: 4",
    "Answer: a diet low in salt",
    "Answer: E. coli\nConfidence: 4",
    "E. coli is the most likely germ.",
    "Answer: B cells\nConfidence: 4",
    "Answer: C-reactive protein\nConfidence: 4",
    "Answer: D-dimer",
    "The answer is C peptide.",
    "Answer: A's",
    "Answer: Ç",
    "Answer: С",  # Cyrillic
    "Answer: Increased glucose\nConfidence: 4",
    "Answer: None of the above\nConfidence: 4",
    "Answer: A or B\nConfidence: 4",
    "Answer: A/B\nConfidence: 4",
    "Answer: A and possibly B",
    "Answer: A, B\nConfidence: 4",
    "Answer: A, B and C",
    "Answer: AB",
    "Answer: either A or B",
    "Answer: (A) or (B)",
    "Answer: a or b",
    "Answer: <A/B/C/D/E/F>\nConfidence: <1-5>",
    "Answer: C\nAnswer: A or B",
    "Answer: A; C\nConfidence: 2",
    "Answer: A|B|C|D|E|F",
    "| Answer | A | B | C |",
    LISTED,
    "Cannot answer: A and B are the same.",
    "I am unable to give a definite answer: B would be dangerous.",
    "I don't think the answer is B.",
    '{"answer": "A or B", "confidence": 4}',
    '{"answer": "A", "answer": "B", "confidence": 4}',
    '{"answer": null, "confidence": 4}',
    '{"answer": 2, "confidence": 4}',
    '{"answers": "C"}',
    "Answer: G\nConfidence: 4",
    "Answer: 3\nConfidence: 4",
    "Answer: \nConfidence: 4",
    "Is the answer B?",
    "Choose the best answer\nA. one\nB. two",
    "A. one\nB. two\nC. three",
    "C or D",
    "A: I am not sure.",
    "Options A, B and C are wrong.",
    "The correct choice is C.",
    "Réponse : C\nConfiance : 4",
    "Antwort: C\nSicherheit: 4",
    "Respuesta: C",
    "答案：C",
    "Ответ: C",
    "F in the exam? I would rather not say.",
    "Vitamin C deficiency",
    "Hepatitis B",
    "answers: C",
    "The answer may be found on page B.",
]


@every(("text", "letter", "confidence", "rule"), READ)
def test_reply_with_letter_and_confidence_is_read(text, letter, confidence, rule):
    assert parse(text, OPTIONS) == Parsed(letter, confidence, "ok", None, rule)


@every(("text", "letter", "why"), WITHOUT_CONFIDENCE)
def test_letter_without_valid_confidence_keeps_the_letter_and_says_why(text, letter, why):
    parsed = parse(text, OPTIONS)
    assert (parsed.answer, parsed.confidence, parsed.status) == (letter, None, "confidence_unparsed")
    assert why in (parsed.reason or "")


@every("text", UNREAD)
def test_no_letter_is_invented(text):
    parsed = parse(text, OPTIONS)
    assert (parsed.answer, parsed.confidence, parsed.status) == (None, None, "answer_unparsed")
    assert parsed.reason


def test_option_text_counts_only_when_exactly_one_option_has_it():
    twice = ("Same text", "same  text.", "Other", "Another", NONE_OF_THE_ABOVE, CANNOT_ANSWER)
    assert parse("Same text", twice).answer is None
    assert parse("Other", twice).answer == "C"
    assert parse("Other").answer is None


def test_short_options_that_are_letters_do_not_beat_the_letter_rule():
    swapped = ("B", "A", "x", "y", NONE_OF_THE_ABOVE, CANNOT_ANSWER)
    assert parse("A", swapped).answer == "A"


@every(
    ("text", "bare", "expected"),
    [
        ("4", True, 4),
        (" (4). ", True, 4),
        ("4/5", True, 4),
        ("Confidence: 4", True, 4),
        ("4", False, None),
        ("7", True, None),
        ("4 or 5", True, None),
        ("", True, None),
    ],
)
def test_confidence_step_reads_a_bare_digit(text, bare, expected):
    rating, reason = read_confidence(text, bare=bare)
    assert rating == expected
    assert (reason is None) == (expected is not None)


PIECES = (
    "Answer¦answer¦ANSWER¦Confidence¦confidence¦:¦ is ¦-¦—¦\n¦ ¦**¦(¦)¦A¦B¦C¦D¦E¦F¦a¦c¦1¦3¦5¦7¦4.5¦/5¦ out of 5¦%¦or¦and¦,"
    '¦{"answer": "C"¦"confidence": 4}¦}¦{¦"¦\\boxed{¦\\text{¦$¦<¦>¦[¦]¦I\'m sorry¦None of the above¦E. coli¦\u200b¦\u202e'
    "¦\x00¦\ud800¦Ｃ¦é¦的¦option ¦(1-5)"
)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES.split("¦")), max_size=30).map("".join)))
def test_any_text_gives_a_letter_a_to_f_or_none_and_a_reason(text):
    parsed = parse(text, OPTIONS)
    assert parsed.answer is None or parsed.answer in LETTERS
    assert parsed.confidence in (None, 1, 2, 3, 4, 5)
    assert (parsed.status == "answer_unparsed") == (parsed.answer is None)
    assert (parsed.status == "ok") == (parsed.confidence is not None) == (parsed.reason is None)
    assert parsed == parse(text, OPTIONS)
    if parsed.answer and parsed.confidence:
        again = parse(f"Answer: {parsed.answer}\nConfidence: {parsed.confidence}", OPTIONS)
        assert (again.answer, again.confidence) == (parsed.answer, parsed.confidence)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=st.characters(exclude_characters="Aa"), max_size=80))
def test_text_without_label_never_becomes_another_letter_than_it_shows(text):
    parsed = parse(text)
    if parsed.answer is not None:
        plain = unicodedata.normalize("NFKC", text)
        assert parsed.answer in plain.upper()


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(LETTERS), st.integers(1, 5), st.sampled_from(["", " ", "\n", "\t"]), st.booleans())
def test_usual_form_and_decorated_form_agree(letter, rating, space, bold):
    mark = "**" if bold else ""
    decorated = f"{space}{mark}Answer:{mark} {letter}{space}\n{mark}Confidence:{mark} {rating}{space}"
    parsed = parse(decorated, OPTIONS)
    assert (parsed.answer, parsed.confidence) == (letter, rating)


@pytest.mark.parametrize(
    "text",
    [
        "answer " * 280_000,
        '{"answer":' * 200_000,
        "{" * 2_000_000,
        "answer" + " " * 2_000_000 + "C",
        "confidence (1" * 154_000,
        "Answer: A or " * 154_000,
        "\\boxed{" * 280_000,
        "Ａ" * 2_000_000,
        "\x00" * 2_000_000,
        "<b>" * 600_000 + "</b>",
        "not to be able " * 120_000,
        "confidence high " * 120_000,
    ],
    ids=[
        *("labels", "json", "braces", "spaces", "brackets", "pairs", "boxes", "full-width", "nul"),
        *("tags", "negations", "words"),
    ],
)
def test_two_megabytes_of_anything_end(text):
    """Time that grew with the square of the length would not end while anyone waits."""
    assert parse(text, OPTIONS).confidence is None


def test_answer_after_ten_megabytes_of_reasoning_is_read():
    text = "The patient has a fever and the answer depends on it. " * 185_000 + "\nAnswer: D\nConfidence: 2"
    parsed = parse(text, OPTIONS)
    assert (parsed.answer, parsed.confidence) == ("D", 2)


@every(
    ("reply", "rating"),
    [
        ("Answer: C\nI'm fairly confident (4/5).", 4),
        ("Answer: C\nI am 4/5 sure.", 4),
        ("Answer: C. Certainty: 2 out of 5", 2),
        ("Answer: C. I am certain, 5/5", 5),
        ("Answer: C. Not sure: 4/50", None),
        ("Answer: C. Muscle strength is 4/5 in the left arm.", None),
    ],
)
def test_a_rating_out_of_five_needs_a_word_of_confidence_beside_it(reply, rating):
    assert parse(reply, OPTIONS).confidence == rating
