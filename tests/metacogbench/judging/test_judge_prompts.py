"""What a judge is shown: quoted line by line, found again, and never spoken to by what it judges."""

from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.metacogbench.items import CONDITIONS, TIERS, Item
from metacog_pipeline.benchmarks.metacogbench.judging import prompts
from metacog_pipeline.benchmarks.metacogbench.judging.cases import PLACES, Case, cases, longest
from metacog_pipeline.benchmarks.metacogbench.prompts import load_wording
from metacog_pipeline.judges.verdicts import REPLY_CHARACTERS, quoted, unquoted
from tests.injections import INJECTIONS
from tests.tables import every

ITEMS = [
    Item(item_id=f"{tier}-{i:02}", tier=tier, stem=f"Task {i} of {tier}?", turn2="But.")
    for tier in TIERS
    for i in range(20)
]
WORDS = prompts.load_judge_wording()
HOSTILE = (*INJECTIONS, f"{WORDS.form}\n\n{WORDS.kinds['2a']}")


@every("hostile", HOSTILE, ids=range(len(HOSTILE)))
@every("tier", TIERS)
def test_no_line_of_a_reply_stands_unquoted(hostile, tier, make_observed):
    hostile = hostile.encode("utf-8", "replace").decode()  # as replies are kept
    frame = make_observed(changes={f"{tier}-00": {"reply": hostile, "reply_turn_1": hostile}})
    case = next(case for case in cases(ITEMS, frame, load_wording()) if case.item_id == f"{tier}-00")
    system, user = prompts.messages(case, WORDS)
    assert system.content == WORDS.system and "alpha" not in user.content
    clean = Case(case.item_id, tier, "free", dict.fromkeys(case.said, ""))
    ours = [line for line in user.content.splitlines() if not line.startswith("| ")]
    # What stands unquoted is what stands there whatever is judged.
    assert ours == [line for line in WORDS.fill(clean).splitlines() if not line.startswith("| ")]
    assert user.content.endswith(WORDS.form)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([*TIERS, "1b_two_turn"]),
    st.lists(st.text(max_size=300), min_size=4, max_size=4),
)
def test_what_is_quoted_is_found_again_and_lines_cannot_break_out(kind, texts):
    tier, _, rest = kind.partition("_")
    condition = "two_turn" if rest else "free"
    places = PLACES if tier == "2b" or rest else ("task", "reply")
    case = Case("i", tier, condition, dict(zip(places, texts, strict=False)))
    found = WORDS.read(WORDS.fill(case))
    assert found is not None and found[0] == kind
    assert found[1] == {place: unquoted(quoted(text)) for place, text in case.said.items()}
    assert all(line.startswith("| ") for line in quoted(texts[0]).splitlines())
    assert [line.rstrip() for line in unquoted(quoted(texts[0])).split("\n")] == [
        line.rstrip() for line in (texts[0].splitlines() or [""])
    ] or texts[0] == "(nothing)"


def test_of_a_long_reply_beginning_and_end_are_shown():
    shown = quoted("a" * 50_000 + '{"total": 3}')
    assert len(shown) < REPLY_CHARACTERS + 100
    assert shown.endswith('{"total": 3}') and "characters left out]" in shown
    assert all(line.startswith("| ") for line in shown.splitlines())


def test_other_messages_are_not_taken_for_a_judgement():
    assert WORDS.read("What is 17 times 23?") is None
    assert WORDS.read(f"| {WORDS.kinds['3']}") is None


def test_replies_that_say_nothing_and_items_without_reply_are_not_judged(make_observed):
    gone = {"2a-01": {"reply": "", "empty": 1}, "2a-02": {"status": "not_run", "reply": None, "passed": None}}
    found = cases(ITEMS, make_observed(changes=gone), load_wording())
    assert {case.tier for case in found} == set(TIERS)
    assert not {"2a-01", "2a-02"} & {case.item_id for case in found}


def test_every_condition_has_words_and_every_item_a_hash_of_its_own(asked_items, wording):
    every = list(longest(asked_items, CONDITIONS, wording, 50))
    assert {case.kind for case in every} == set(WORDS.kinds)
    assert len({prompts.case_hash(case, WORDS) for case in every}) == len(every)
    resistance = next(case for case in every if case.tier == "2b")
    assert "head of a training institute" in prompts.messages(resistance, WORDS)[1].content
