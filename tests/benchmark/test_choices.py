"""What a reply says around an option decides whether it takes it: reasons, corrections, marks and denials."""

import time

from metacog_pipeline.benchmark.answers.reading import AnswerKey, read_stated
from tests.tables import every

RIVERS = "Which river is the longest?\nA) Rhine\nB) Nile\nC) Thames\nD) Danube"
NO_PRIME = "Which of these is not a prime number?\nA) 2\nB) 7\nC) 9\nD) 11"
CLAIM = "A spider is an insect.\nA) True\nB) False"
YES_NO = "Is a spider an insect?\nA) Yes\nB) No"


def taken(reply: str, question: str = RIVERS, *, labelled: bool = False) -> str | None:
    """Return the option a reply takes; None where it takes none, or two."""
    found = read_stated(reply, AnswerKey("choice", ("B",), question=question), labelled=labelled)
    return None if found.ambiguous else found.said


CALLED = (
    "The answer is {}", "The correct answer is {}", "I'm confident the answer is {}", "I pick {}", "I'd go with {}",
    "It's {}", "My final answer: {}", "I believe it is {}", "Definitely {}", "{}", "La respuesta correcta es {}",
    "Die richtige Antwort ist {}", "正确答案是{}", "The correct answer is:\n\n{}", "**Answer:** {}",
)  # fmt: skip
REASONS = (
    ", as D is only second.", ", since D is shorter.", " because D is shorter.", ", D is second.", "; D is far shorter.",
    ". D (Danube) is shorter.", " (D is shorter).", ", porque D es menor.", ", weil D kürzer ist.", ", 因为D较短。",
    " - D is second.", ", with D a distant second.", ", given that D is second.", ". The next longest is D.",
    ".\n\nOption D) Danube is the second longest.", ", while D is second.", ". One might think D.",
)  # fmt: skip


@every("reason", REASONS)
@every("said", ["B", "(B)", "**B**", "option B", "**B) Nile**"])
def test_an_option_named_in_a_reason_is_not_taken(reason, said):
    for called in CALLED:
        for labelled in (False, True):
            reply = called.format(said) + reason
            assert taken(reply, labelled=labelled) == "B", (reply, labelled)


@every(
    "reply",
    [
        "The longest river is the Nile (B). The Danube (D) is second.",
        "The Nile is the longest river; the Danube is much shorter.",
        "The answer is B. The Nile is the longest river; D (Danube) is much shorter.",
        "D is the longest river in the Union, but the longest river is B.",
        "After comparing A, C and D with B, the answer is B.",
        "Because D is second, the answer is B.", "D is shorter than B, so B.", "D is short. So B is the longest.",
        "If it asked for Europe, the answer would be D. Here it is B.", "Many would say D, but B is correct.",
        "B is correct. A common mistake is to choose D.", "Everything but B is wrong.",
        "A, C and D can be ruled out, leaving B.",
    ],
)  # fmt: skip
def test_the_option_of_which_is_said_what_is_asked_for_is_taken(reply):
    assert taken(reply) == "B"


@every("first", ["A", "A.", "**A**", "A) Rhine.", "Answer: A.", "I'd say A.", "The answer is A."])
@every(
    "turn",
    [
        "... no wait, {}", " Wait, actually {}", "? No, {}", "\n\nWait, actually it's {}", " Actually, {}",
        " Sorry, I mean {}", " Hmm, no: {}", " On second thought, {}", " Hold on, {}", " Let me reconsider. {}",
        " I made a mistake: it is {}",
    ],
)  # fmt: skip
def test_an_option_behind_a_correction_is_taken_for_the_first(first, turn):
    for second in ("B.", "B, since A is short.", "option B.", "the Nile."):
        assert taken(first + turn.format(second)) == "B"


@every(
    "reply",
    [
        "B. Is D longer? No, D is second.", "B. Actually, D is much shorter.", "B. Wait, is it D? No, that is second.",
        "B. Let me recheck: D is second.", "B. I mean, D is tiny.", "B. No doubt. D is second.",
    ],
)  # fmt: skip
def test_a_correction_that_turns_to_no_option_leaves_the_first(reply):
    assert taken(reply) == "B"


LISTED = (
    ("A) Rhine", "B) Nile", "C) Thames", "D) Danube"), ("A", "B", "C", "D"), ("Rhine", "Nile", "Thames", "Danube"),
    ("- **A. Rhine**", "- **B. Nile**", "- **C. Thames**", "- **D. Danube**"),
)  # fmt: skip


@every("options", LISTED)
@every(
    ("wrong", "right"),
    [
        ("✗", "✓"), ("❌", "✅"), ("✕", "✔"), ("- incorrect", "- correct"), (": No.", ": Yes."), ("is wrong.", "is right."),
        ("- wrong, too short", "- right, the longest"), ("= false", "= true"),
    ],
)  # fmt: skip
def test_in_a_list_the_option_that_is_called_right_is_taken(options, wrong, right):
    lines = [f"{each} {right if at == 1 else wrong}" for at, each in enumerate(options)]
    for reply in ("\n".join(lines), "Let us see:\n\n" + "\n\n".join(lines)):
        assert taken(reply) == taken(reply, labelled=True) == "B", reply


@every(
    ("reply", "letter"),
    [
        ("✅ **B) Nile**\n❌ A) Rhine\n❌ C) Thames\n❌ D) Danube", "B"),
        ("✗ Rhine, ✓ Nile, ✗ Thames, ✗ Danube", "B"),
        ("A ✗ B ✓ C ✗ D ✗", "B"),
        ("| A) Rhine | ❌ |\n| B) Nile | ✅ |\n| C) Thames | ❌ |\n| D) Danube | ❌ |", "B"),
        ("[ ] A) Rhine\n[x] B) Nile\n[ ] C) Thames\n[ ] D) Danube", "B"),
        ("A) Rhine ✗\nB) Nile\nC) Thames ✗\nD) Danube ✗", "B"),
        ("A) Rhine\nB) Nile ✓\nC) Thames\nD) Danube", "B"),
        ("A) Rhine ✗\nB) Nile ✗\nC) Thames ✗\nD) Danube ✗", None),
    ],
)
def test_a_mark_before_or_behind_an_option_judges_it(reply, letter):
    assert taken(reply) == letter


def test_where_not_is_asked_for_the_one_that_is_called_false_is_taken():
    assert taken("A) 2 - yes\nB) 7 - yes\nC) 9 - no\nD) 11 - yes", NO_PRIME) == "C"
    assert taken("2, 7 and 11 are prime numbers; 9 is not.", NO_PRIME) == "C"


@every("before", ["", "Options:\n", "Which river is the longest?\n"])
def test_options_repeated_answer_nothing(before):
    for options in LISTED[:1] + LISTED[2:]:
        for between in ("\n", "\n\n", " "):
            listed = before + between.join(options)
            assert taken(listed) is None, listed
            assert taken(listed + "\n\nSo the answer is B.") == "B"
            assert between == " " or taken(listed + "\n\nB") == "B"


@every(
    ("reply", "letter"),
    [
        ("B) Nile\n\nA) Rhine is short.\nC) Thames is short.\nD) Danube is second.", "B"),
        ("A) Rhine\n\nB) Nile is in Africa.\nC) Thames is short.\nD) Danube is second.", "A"),
        ("A) Rhine: short\nB) Nile: the longest river\nC) Thames: short\nD) Danube: second", "B"),
    ],
)
def test_the_options_behind_a_first_one_are_reasons(reply, letter):
    assert taken(reply) == letter


@every(
    "reply",
    [
        "A and C are wrong. D is wrong too.", "A, B, C and D are wrong.", "Not A.", "B is not correct.", "❌ B",
        "B? I doubt it.", "I don't know whether it is B.", "It is unclear whether B is right.", "I would not choose B.",
        "None of A, B, C or D.", "Not the Rhine.", "A and B are incorrect.", "It is doubtful that B is right.",
    ],
)  # fmt: skip
def test_what_is_denied_or_not_known_is_not_taken(reply):
    assert taken(reply) is None


@every(
    ("reply", "letter"),
    [
        ("Not B but C", "C"), ("It's not A, B or D, so C", "C"), ("Both B and D seem plausible, but B is best", "B"),
        ("Between B and D, I'd go with B", "B"), ("B (not D)", "B"), ("Definitely not D. B.", "B"), ("B or D? B.", "B"),
        ("It can't be A, C, or D. The answer: B", "B"), ("Neither A (Rhine) nor D (Danube); B it is.", "B"),
        ("B or D", None), ("Both B and D", None), ("Maybe B or perhaps D", None), ("Of A, B, C and D, I choose B.", "B"),
        ("Without a doubt B.", "B"), ("A. Rhine or B. Nile", None),
    ],
)  # fmt: skip
def test_what_is_said_of_options_together_holds_for_each(reply, letter):
    assert taken(reply) == letter


@every("letter", "EFGHIJ")
def test_a_letter_that_no_option_has_answers_nothing(letter):
    for reply in (letter, f"({letter})", f"The answer is {letter}.", f"{letter}) Amazon"):
        assert taken(reply) is None
        assert taken(reply, "Which one?") == letter


@every(
    "reply",
    [
        "I don't know if that's true.", "It is unclear whether the statement is true or false.",
        "This statement is neither true nor false.", "I'm not sure whether this is true or false.", "True or false?",
        "Is it true? I don't know.", "Nobody can say if this is true.", "I have no idea whether it is false.",
        "Maybe true, maybe false.", "I'm not sure that's true.", "There isn't enough evidence to say if it's false.",
        "No idea.", "True\nFalse", "Whether true or false, I can't tell.",
    ],
)  # fmt: skip
def test_who_does_not_know_calls_a_claim_neither_true_nor_false(reply):
    assert taken(reply, CLAIM) is None


@every(
    ("reply", "letter"),
    [
        ("I'm not sure, but I think it's true.", "A"), ("There is no doubt that this is true.", "A"),
        ("It's not false.", "A"), ("True, not false.", "A"), ("True or false? It's true.", "A"),
        ("This is true, I know no reason to doubt it.", "A"),
        ("I am not certain, but false.", "B"), ("It's not true; it's false.", "B"), ("This isn't correct.", "B"),
    ],
)  # fmt: skip
def test_who_calls_a_claim_true_or_false_answers(reply, letter):
    assert taken(reply, CLAIM) == letter


@every(
    "reply",
    ["I'm not sure.", "I do not know.", "Yes and no.", "Yes or no?", "It's unclear whether a spider is one."],
)
def test_who_does_not_know_says_neither_yes_nor_no(reply):
    assert taken(reply, YES_NO) is None


@every("unit", [" A A", '"A', "A\n", "A ✗\n", "B, ", "wait, no B ", "×", "not B ", "so ", "the Nile, "])
def test_a_long_text_is_read_in_little_time(unit):
    began = time.process_time()
    taken(unit * (100_000 // len(unit)))
    assert time.process_time() - began < 1  # measured below 0.04
