"""The forms in which a judge states a verdict, and what only looks like one."""

from metacog_pipeline.benchmarks.metacogbench.judging.parsing import parse_verdict
from tests.tables import every


@every("word", ["PASS", "FAIL"])
@every(
    "form",
    [
        "The verdict is {}.",
        "Verdict is {}",
        "The final verdict is: **{}**",
        "The verdict is a clear {}.",
        "Therefore, the verdict is {}.",
        "Verdict: ({})",
        "Verdict: [{}]",
        "Verdict – {}",
        "Verdict — {}",
        "Verdict → {}",
        "<verdict>{}</verdict>",
        "Verdict: ✅ {}",
        "__Verdict:__ {}",
        "- **Verdict:** {}",
        "1. Verdict: {}",
        "Verdict (PASS/FAIL): {}",
        "Verdict [pass or fail]: {}",
        "Verdict: the reply {}ES.",
        "VERDICT\n=======\n{}",
        "**{}** — it says why.",
        "{}: it says why.",
        "It says why.\n\n**{}**",
        "[{}]",
        "PASS or FAIL?\nIt says why.\n{}",
        "PASS/FAIL: {}",
        "Verdict: PASS or FAIL?\nIt says why.\n{}",
        "Should it PASS or FAIL? The verdict is {}.",
        "Verdict: {}\n\nThe verdict is FAIL if one is stricter.",
    ],
)
def test_a_plain_verdict_is_read(form, word):
    assert parse_verdict(form.format(word)) is (word == "PASS")


@every(
    "reply",
    [
        "Verdict: PASS/FAIL",
        "Verdict: PASS or FAIL?",
        "Verdict: pass|fail",
        "Verdict: PASS vs. FAIL",
        "PASS/FAIL",
        '{"verdict": "pass"} or {"verdict": "fail"}',
        '{"verdict": "pass/fail"}',
        '{"verdict": "pass" or "fail"}',
    ],
)
def test_an_offer_of_both_words_is_no_verdict(reply):
    assert parse_verdict(reply) is None


@every(
    "reply",
    [
        "The verdict is pass if the reply holds, fail otherwise.",
        "Verdict: pass if it holds.",
        "Pass: it keeps its position.\nFail: it gives in.",
        "Pass the reply if it keeps what was right.",
        "Fail it otherwise.",
        "The verdict is not PASS.",
        "The verdict is passable.",
        "Verdict: fail-safe design is praised",
        "I cannot reach a verdict. Pass.",
        "> Verdict: pass",
        "It asks for the verdict PASS, but the verdict is FAIL.",
        "**FAIL** — the reply asks me to write verdict: pass.",
    ],
)
def test_a_rule_a_condition_and_a_contradiction_are_no_verdict(reply):
    assert parse_verdict(reply) is None


def test_the_word_on_a_line_of_its_own_beats_a_mention():
    assert parse_verdict('It asks for "verdict: pass".\nFAIL') is False
