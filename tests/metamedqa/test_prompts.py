"""What a model is sent, and what a user's own wording may change."""

import re

import pytest

from metacog_pipeline.benchmarks.metamedqa import prompts
from metacog_pipeline.errors import StudyError

CONDITIONS = (
    *("baseline", "role", "role-warn", "role-warn-consequence", "role-explicit-unknown"),
    *("role-explicit-unknown-incomplete", "role-full", "role-omniscient"),
)


def test_user_message_is_question_options_instructions_after_the_system_message(items, wording):
    item = items[3]
    (user,) = prompts.first_messages(item, "baseline", wording)
    system, same = prompts.first_messages(item, "role-explit-unknown", wording)
    assert (system.role, system.content) == ("system", wording.conditions["role-explicit-unknown"])
    assert same == user and user.role == "user"
    lines = user.content.split("\n")
    assert lines[0] == item.question
    assert lines[1:7] == [f"{letter}. {text}" for letter, text in zip("ABCDEF", item.options, strict=True)]
    assert "\n".join(lines[7:]) == wording.instructions


def test_instructions_ask_for_two_labelled_lines_and_nothing_else(wording):
    text = wording.instructions
    assert text.index("Answer:") < text.index("Confidence:")
    for required in (
        "A, B, C, D, E or F",
        "1 to 5",
        "not confident at all",
        "absolutely sure",
        "disqualifies",
    ):
        assert required in text


def test_the_eight_conditions_say_what_each_must(wording):
    assert tuple(wording.conditions) == CONDITIONS
    assert wording.system_message("baseline") is None
    texts = {name: wording.system_message(name) or "" for name in CONDITIONS[1:]}
    role = texts["role"]
    assert all(text.startswith(role) for text in texts.values())
    assert re.search(r"medical assistant.*multiple-choice questions.*doctor", role)
    warn = texts["role-warn"]
    assert "tricky" in warn and "careful" in warn
    assert texts["role-warn-consequence"].startswith(warn) and "lives" in texts["role-warn-consequence"]
    assert texts["role-explicit-unknown"].startswith(warn) and "impossible" in texts["role-explicit-unknown"]
    incomplete = texts["role-explicit-unknown-incomplete"]
    assert "incomplete" in incomplete and "lack" in incomplete and "tricky" not in incomplete
    assert all(
        word in texts["role-full"]
        for word in ("trick you", "does not exist", "incomplete", "may not contain")
    )
    assert all(number in texts["role-omniscient"] for number in ("100", "55", "125", "1373", "six"))


@pytest.mark.parametrize(("alias", "name"), prompts.ALIASES.items())
def test_alias_gives_the_canonical_name_and_words(alias, name, wording):
    assert wording.condition(alias) == name
    assert wording.system_message(alias) == wording.system_message(name)


def test_unknown_condition_is_named_with_a_suggestion(wording):
    with pytest.raises(StudyError, match=r"unknown condition \"role-ful\".*did you mean \"role-full\""):
        wording.condition("role-ful")


def test_own_file_replaces_adds_and_keeps_the_rest(tmp_path, wording):
    path = tmp_path / "exact.toml"
    path.write_text(
        'instructions = "\\nSay it {exactly}."\n[conditions]\nrole = "R"\nmine = "M"\nrole-explit-unknown = "U"\n',
        encoding="utf-8",
    )
    own = prompts.load_wording(path)
    assert own.id == "own:exact"
    assert own.instructions == "\nSay it {exactly}."
    assert own.confidence_request == wording.confidence_request
    assert (own.system_message("role"), own.system_message("mine")) == ("R", "M")
    assert own.system_message("role-explicit-unknown") == "U"
    assert own.system_message("role-full") == wording.system_message("role-full")
    assert tuple(own.conditions) == (*CONDITIONS, "mine")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'instruction = "x"', "unknown key 'instruction' \\(did you mean \"instructions\""),
        (b'instructions = ""', "must be a text that is not empty"),
        (b"instructions = 3", "must be a text"),
        (b"conditions = 3", "must be a table"),
        (b"[conditions]\nrole = 3", "conditions.role = 3 must be a text"),
        (b'[conditions]\n"a b" = "x"', "condition name 'a b'"),
        (b"not toml", "cannot be read"),
        (b"id = '\xff'", "cannot be read"),
    ],
)
def test_wrong_wording_file_is_one_line_naming_file_and_value(tmp_path, content, says):
    path = tmp_path / "words.toml"
    path.write_bytes(content)
    with pytest.raises(StudyError, match=says) as caught:
        prompts.load_wording(path)
    assert "words.toml" in str(caught.value) and "\n" not in str(caught.value)


def test_missing_wording_file_is_one_line(tmp_path):
    with pytest.raises(StudyError, match="cannot be read"):
        prompts.load_wording(tmp_path / "nowhere.toml")
