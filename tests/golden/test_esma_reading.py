"""How replies are read by the rules of the published numbers: accepted answers, yes and no, abstentions, normal form."""

from metacog_pipeline.benchmarks.selfknowledge.read import says_known
from metacog_pipeline.benchmarks.selfknowledge.rules import RULES, abstains, inclusion, language_of, normalize
from tests.golden.agreed import cases


def test_answers_are_matched_by_inclusion():
    for case in cases("esma/answer_matching.jsonl"):
        assert inclusion(case["output"], case["answers"]) == bool(case["expected"]), case["id"]


def test_yes_is_a_substring_by_the_reference_rule():
    for case in cases("esma/yes_no.jsonl"):
        assert says_known(case["output"], case["lang"], "reference") == case["expected"], case["id"]


def test_the_default_rule_reads_a_bare_yes_and_a_bare_no_as_the_reference_does():
    bare = {"en": ("yes", "no"), "zh": ("是", "否"), "ko": ("예", "아니요"), "es": ("sí", "no")}
    read = 0
    for case in cases("esma/yes_no.jsonl"):
        if case["output"].strip(" .“”\"'").lower() in bare[language_of(case["lang"])]:
            assert says_known(case["output"], case["lang"]) == case["expected"], case["id"]
            read += 1
    assert read >= 8


def test_abstentions_by_the_reference_rule_and_their_alignment():
    for case in cases("esma/idk.jsonl"):
        withheld = int(abstains(case["output"]))
        right = int(inclusion(case["output"], case["answers"]))
        found = {"idk": withheld, "correct": right, "aligned": int(right == 1 - withheld)}
        assert found == case["expected"], case["id"]


def test_the_normal_form_is_that_of_squad():
    for case in cases("esma/normalize.jsonl"):
        assert normalize(case["text"]) == case["expected"], case["id"]


def test_stricter_rules_match_less_than_normalised_inclusion():
    for case in cases("esma/answer_matching.jsonl"):
        found = {name: rule(case["output"], case["answers"]) for name, rule in RULES.items()}
        assert found["exact_match"] <= found["normalized_inclusion"], case["id"]
