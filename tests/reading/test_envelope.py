"""The turn of a reply: without what is thought aloud, in whatever marks, and up to where the model's turn ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.reading.envelope import Envelope
from metacog_pipeline.reading.fields import Confidence, Letter, Number, YesNo
from metacog_pipeline.reading.names import ShortText
from metacog_pipeline.reading.reader import read

FINAL = "<|end|><|start|>assistant<|channel|>final<|message|>"
ANALYSIS = "<|channel|>analysis<|message|>"
LETTER = Letter(dict(zip("ABCD", ("Heparin", "Warfarin", "Aspirin", "None of the above"), strict=True)))
FIELDS = (LETTER, Number("m"), ShortText(("Paris",)), YesNo())


def answer(reply):
    found = read(Envelope.of(reply), (LETTER, Confidence(1, 5, whole=True)))
    return found["answer"].value, found["confidence"].value


@pytest.mark.parametrize(
    "reply",
    [
        "<think>Answer: B</think>Answer: C",
        "<Thinking>Answer: B</Thinking>\n\nAnswer: C",
        "<thought>Answer: B</thought>Answer: C",
        '<reasoning effort="high">Answer: B</reasoning>Answer: C',
        "Answer: B</think>Answer: C",
        "<think>one</think>draft: A</think>Answer: C",
        "A, perhaps<think>one</think>two</think>Answer: C",
        "<|channel|>commentary<|message|>Answer: A<|end|><|channel|>final<|message|>Answer: C",
        "<think>Such a tag, <think>, opens it. Answer: B</think>Answer: C",
        "<think>One</think></think>Answer: C",
        "<think>One</think>Answer: C<think>Answer: B",
        "[THINK]Answer: B[/THINK]Answer: C",
        "◁think▷Answer: B◁/think▷Answer: C",
        "<|START_THINKING|>Answer: B<|END_THINKING|>Answer: C",
        "<|begin_of_thought|>Answer: B<|end_of_thought|>Answer: C",
        "<unused94>thought\nAnswer: B<unused95>Answer: C",
        "<seed:think>Answer: B</seed:think>Answer: C",
        f"{ANALYSIS}Answer: B{FINAL}Answer: C",
        f"{ANALYSIS}Answer: B{FINAL}Answer: C<|return|>",
        f"{ANALYSIS}Answer: B<|end|><|start|>assistant<|channel|>commentary to=functions.look <|constrain|>json<|message|>"
        f"{{}}<|call|>{FINAL}Answer: C",
    ],
)
def test_what_is_thought_aloud_is_left_out(reply):
    assert Envelope.of(reply).text.strip() == "Answer: C"
    assert answer(reply)[0] == "C"


@pytest.mark.parametrize(
    "reply", ["<think>Answer: B", "[THINK]Answer: B", "<unused94>thought Answer: B", f"{ANALYSIS}Answer: B"]
)
def test_a_thought_that_does_not_end_is_no_reply(reply):
    assert not Envelope.of(reply).text.strip()
    assert answer(reply) == (None, None)


@pytest.mark.parametrize("reply", ["a < b", "[thinking] of it", "x <b>B</b>", "f(x)<|x|>", "<unused93>B"])
def test_what_looks_like_a_mark_stays(reply):
    assert Envelope.of(reply).text == reply


@pytest.mark.parametrize(
    "behind",
    [
        "<|im_end|>\n<|im_start|>user\nNext?\nAnswer: A",
        "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnswer: A",
        "</s> Answer: A",
        "<end_of_turn>\n<start_of_turn>user\nAnswer: A",
        "\n\nQuestion: What else?\nAnswer: A\nConfidence: 1",
        "\n\nHuman: And now?\n\nAssistant: Answer: A",
        "\n\n### Instruction:\nAnswer the next one.\n\n### Response:\nAnswer: A",
        " [INST] Next [/INST] Answer: A",
    ],
)
def test_what_follows_the_end_of_the_turn_is_nobodys_answer(behind):
    assert answer(f"Answer: C\nConfidence: 4{behind}") == ("C", 4)


@pytest.mark.parametrize(
    "before", ["<|im_start|>assistant\n", "<s>", "<|start_header_id|>assistant<|end_header_id|>\n\n"]
)
def test_a_token_before_the_first_word_opens_the_turn(before):
    assert answer(f"{before}Answer: C\nConfidence: 4") == ("C", 4)


def test_a_place_in_the_turn_is_a_place_in_the_reply():
    reply = "<think>Ｂ？</think>\nＡｎｓｗｅｒ： Ｃ\nConfidence: 4"
    envelope = Envelope.of(reply)
    found = read(envelope, (LETTER,))["answer"]
    assert reply[envelope.start + found.start : envelope.start + found.end] == "Ｃ"


def test_an_answer_behind_ten_megabytes_of_prose_is_read():
    assert answer(
        "The patient has a fever and it depends on it. " * 200_000 + "\nAnswer: D\nConfidence: 2"
    ) == ("D", 2)


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=300))
def test_any_text_is_read_or_has_a_status(reply):
    for field in FIELDS:
        found = read(Envelope.of(reply), (field, Confidence(0, 100)))
        assert (found.status == "ok") == (
            found[field.name].value is not None or found[field.name].status == "ok"
        )


@pytest.mark.parametrize(
    "unit",
    [
        *("<think>", "</think>", "[THINK]", "<|channel|>", ANALYSIS, "<", "<unused94>"),
        *("\n", " ", "[", "{", '"', "\\boxed{", "Answer: A or ", "confidence (1", '{"answer": "A", '),
        *("- ", "| a |\n", "1/5 ", "not to be ", "Question: x\n", "$ "),
    ],
)
def test_a_long_reply_of_anything_is_read_in_time_that_grows_with_its_length(unit):
    """Time that grew with the square of the length would not end while anyone waits."""
    for field in FIELDS:
        assert read(Envelope.of(unit * (60_000 // len(unit))), (field, Confidence(0, 100)))


def test_a_reply_that_ends_in_the_midst_of_its_thinking_was_cut():
    assert Envelope.of("<think>still at it").status == "truncated"
    assert Envelope.of("").status == "ok"
