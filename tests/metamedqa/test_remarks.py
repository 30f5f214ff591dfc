"""What stands beside a declared letter and rating: remarks, explanations, tables and words that look like letters."""

from metacog_pipeline.benchmarks.metamedqa.parsing import parse
from tests.tables import every

OPTIONS = (
    "Aspirin",
    "Warfarin",
    "Heparin",
    "Clopidogrel",
    "None of the above",
    "I don't know or cannot answer",
)


def said(reply):
    parsed = parse(reply, OPTIONS)
    return parsed.answer, parsed.confidence


@every(
    "remark",
    [
        "I did not give a confidence of 5 because imaging is missing.",
        "I can't justify a confidence of 5.",
        "(Confidence 1 = not confident, 5 = absolutely sure)",
        "(Confidence: 5 = absolutely sure)",
        "Confidence: 1 (not confident at all) to 5 (absolutely sure)",
        "Note: Confidence: 1 is lowest, Confidence: 5 is highest.",
        "A confidence of 5 would require imaging.",
        "Confidence 5 would need a biopsy.",
        "Confidence: 5 if imaging confirms it.",
        "Confidence is 5 only with a biopsy.",
        "Had there been imaging, confidence = 5.",
        "If imaging were at hand, my confidence is 5.",
        "Most clinicians would state a confidence of 3 here.",
        "I nearly chose a confidence of 3.",
    ],
)
@every("rated", ["Confidence: 4", "**Confidence:** 4", "Confidence 4", "My confidence: 4/5", "Confidence\n4"])
def test_a_remark_about_the_scale_is_no_rating(rated, remark):
    assert said(f"Answer: C\n{rated}\n\n{remark}") == ("C", 4)


@every(
    "reply",
    [
        "Answer: C\nConfidence: 4 (on the scale where confidence 5 is absolutely sure)",
        "Answer: C, Confidence: 4 (confidence 5 would need imaging)",
        "The answer is C with a confidence of 4. A confidence of 5 would need imaging.",
        "Answer: C (4/5)\n\nI did not give a confidence of 5 because imaging is missing.",
        "Answer: C (4/5)\n\n(Confidence 1 = not confident, 5 = absolutely sure)",
        "Answer: C\nI'm 4/5 sure. I can't be 5/5 sure without imaging.",
    ],
)
def test_a_remark_on_the_line_of_the_rating_is_none(reply):
    assert said(reply) == ("C", 4)


@every(
    "reply",
    [
        "Answer: C\nConfidence: 2\n\nOn reflection, my confidence is 4.",
        "Answer: C\nConfidence: 2\nWait, actually:\nFinal confidence: 4",
        "Draft:\nAnswer: B\nConfidence: 2\n\nActually, the answer is C with a confidence of 4.",
        "Answer: C\nConfidence: 4 = very sure",
        "Answer: C\nMy confidence: 4 would be fair.",
        "Answer: C\nI'd put my confidence at 4",
        "Answer: C\nI'm not sure, but my confidence is 4",
        "Answer: C\nI do not have much confidence: 4",
        "Answer: C\nNot sure: 4/5",
        "Answer: C\nConfidence: 4 (not 5, as the history is short)",
    ],
)
def test_a_revision_and_a_rating_in_other_words_are_read(reply):
    assert said(reply) == ("C", 4)


def test_a_denied_rating_alone_is_none():
    assert said("Answer: C. I would not give a confidence of 5.") == ("C", None)


@every(
    "aside",
    [
        "The second-best answer is B.",
        "The second most likely answer is B.",
        "Next best answer: B",
        "An alternative answer is B.",
        "Another possible answer is B.",
        "The runner-up answer is B.",
        "A common wrong answer is B.",
        "The most tempting wrong answer is B.",
        "The least likely answer is B.",
        "A popular answer is B.",
        "(My first answer: B)",
        "Answer B: incorrect.",
        "Answer: B is wrong.",
        "Answer (B) is wrong.",
        "Answer A: treats pain only.\nAnswer B: for clots.\nAnswer C: contraindicated.",
        "Rationale:\n- Answer A - incorrect, treats pain.\n- Answer B - incorrect.\n- Answer C - incorrect.",
        "Answer A (Aspirin): treats pain only.",
        "### Answer A\nTreats pain.\n### Answer B\nFor clots.",
        "Answer choice A: treats pain.\nAnswer choice B: for clots.",
        "Answer A: Aspirin\nAnswer B: Warfarin\nAnswer C: Heparin",
        "Answer A, B and C are wrong.",
    ],
)
@every("answer", ["Answer: D", "**Answer:** D. Clopidogrel", "The correct answer is D."])
def test_an_explanation_behind_the_answer_does_not_take_its_place(answer, aside):
    assert said(f"{answer}\nConfidence: 4\n\n{aside}") == ("D", 4)


@every(
    "reply",
    [
        "Answer C",
        "Answer C: Heparin",
        "Some thoughts first.\n\nAnswer C: Heparin",
        "Answer C: because it fits best.",
        "Answer: B\nWait, no.\nAnswer C: Heparin",
        "Answer: B\nWait, no.\nAnswer C",
        "Answer: B\nWait, no.\nFinal answer C. It treats clots.",
        "Answer B: Warfarin\nWait, no.\nAnswer C: Heparin",
        "Answer A: treats pain.\nAnswer B: for clots.\n\nAnswer: C",
        "B is wrong\nAnswer: C",
        "The most likely answer is C.",
        "A likely answer is C.",
        "First answer: B\nFinal answer: C",
        "Answer: B. That one was wrong. Answer: C",
        "Answer: B. On a second look, answer: C",
        "Answer: C (incorrect options: A, B, D)",
        "Answer: C. The others are wrong.",
    ],
)
def test_the_last_declaration_still_wins(reply):
    assert said(reply)[0] == "C"


@every(
    "shown",
    ["AAA repair", "CC", "FFF", "BB", "DDD pacemaker", "ABBA", "A-A gradient", "C/C genotype", "A/A", "BEEF"],
)
def test_a_letter_that_is_doubled_is_no_answer(shown):
    assert said(f"Answer: {shown}\nConfidence: 4") == (None, None)
    assert said(f'{{"answer": "{shown}", "confidence": 4}}') == (None, None)


def test_a_letter_named_twice_is_one():
    assert said("Answer: C, C\nConfidence: 4") == ("C", 4)


@every(
    ("value", "letter"),
    [
        ('"Heparin"', "C"),
        ('["heparin."]', "C"),
        ('"None of the above"', "E"),
        ('"I don’t know or cannot answer"', "F"),
        ('"Heparin or Warfarin"', None),
        ('"Unfractionated heparin"', None),
        ('"Digoxin"', None),
    ],
)
def test_a_json_answer_equal_to_one_option_is_read(value, letter):
    assert said(f'{{"answer": {value}, "confidence": 4}}') == (letter, 4 if letter else None)


def test_a_json_answer_equal_to_two_options_is_none():
    assert parse('{"answer": "Same"}', ("Same", "same.", "x", "y", *OPTIONS[4:])).answer is None


@every(
    "reply",
    [
        "| Answer | Confidence |\n|---|---|\n| D | 4 |",
        "| Confidence | Answer |\n|:--|--:|\n| 4 | D |",
        "Here:\n\n| **Final Answer** | **Confidence** |\n| :---: | :---: |\n| **D** | **4** |\n\nDone.",
        "Answer | Confidence\n--- | ---\nD | 4",
        "| Answer | Confidence (1-5) | Reason |\n|---|---|---|\n| D. Clopidogrel | 4/5 | fits |",
        "| Answer | D |\n|---|---|\n| Confidence | 4 |",
        "| Field | Value |\n|---|---|\n| Answer | D |\n| Confidence | 4 |",
        "Answer: D\nConfidence: 4\n\n| Answer | Why |\n|---|---|\n| A | pain |\n| B | clots |",
    ],
)
def test_a_table_of_one_row_is_read_below_its_headings(reply):
    assert said(reply) == ("D", 4)


@every(
    "reply",
    [
        "Answer: Heparin\nConfidence: 4",
        "Option D is correct",
        "Therefore, \\boxed{C}",
        "| Answer | Why |\n|---|---|\n| A | pain |\n| B | clots |",
    ],
)
def test_what_no_rule_names_is_unread(reply):
    assert said(reply) == (None, None)
