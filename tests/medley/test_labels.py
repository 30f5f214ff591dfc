"""Labels and whatever stands in their place → numbers."""

import math

from hypothesis import given

from metacog_pipeline.benchmarks.medley.labels import (
    LABELS,
    LARGEST,
    PAPER_MAP,
    REFERENCE_MAP,
    claim_confidence,
    num,
)
from tests.medley.any_json import JSON
from tests.tables import every


def claim(value, **more):
    return {"claim_level_assessments": [{"claim_id": "C1", "confidence": value, **more}]}


@every("labels", [REFERENCE_MAP, PAPER_MAP])
@every("label", LABELS)
def test_a_label_is_its_value_in_any_dress(label, labels):
    value = getattr(labels, label)
    for text in (label, label.upper(), f"  {label}\n", label.replace("_", "-"), f"{label} (70-89%)"):
        assert num(text, labels) == value
        assert claim_confidence(claim(text), "C1", labels=labels) == value


@every(
    ("text", "label"),
    [("very", "very_high"), ("very_lo", "very_low"), ("Medium", "moderate"), ("vh", "very_high"), ("lo", "low"),
     ("mode", "moderate"), ("N/A", "moderate"), ("verylow", "very_low"), ("hig", "high")],
)  # fmt: skip
def test_short_and_other_spellings(text, label):
    assert num(text) == getattr(REFERENCE_MAP, label)


@every("text", ["0.8", "80%", "moderate-high", "highly", "", "x", "h" * 5000, "(" * 900])
def test_what_is_no_label_is_unrecognised(text):
    assert num(text) == 0.55 and num(text, PAPER_MAP) == 0.5


def test_numbers_stay_as_they_are_unless_no_number_can_be_made_of_them():
    assert [num(x) for x in (0.3, 3.5, -1, True, False)] == [0.3, 3.5, -1.0, 1.0, 0.0]
    for strange in (math.nan, math.inf, -math.inf, 10**400, 2 * LARGEST):
        assert num(strange) == claim_confidence(claim(strange), "C1") == 0.55


def test_wrapped_values_are_unwrapped_alone_but_not_as_a_claim():
    assert num({"level": {"value": ["high"]}}) == 0.8
    assert num({"score": "high"}) == num([]) == num(None) == 0.55
    for wrapped in ({"level": "high"}, ["low"], None):
        assert claim_confidence(claim(wrapped), "C1") == 0.55


def test_nesting_of_any_depth_is_unwrapped_without_recursion():
    value: object = "low"
    for _ in range(50_000):
        value = [value]
    assert num(value) == 0.35
    while isinstance(value, list):  # taken apart by hand: freeing so deep a list recurses
        value = value.pop()


def test_the_first_item_with_exactly_the_id_counts():
    items = [
        {"claim_id": "c1", "confidence": "low"},
        {"claim_id": "C1"},
        {"claim_id": "C1", "confidence": "high"},
    ]
    assert claim_confidence({"claim_level_assessments": items}, "C1") == 0.55
    assert claim_confidence(items, "c1") == 0.35
    assert claim_confidence(items, "C2") is None


def test_a_text_is_looked_for_only_where_there_is_one():
    reply = claim("low", claim_text="The Pump is broken")
    assert claim_confidence(reply, "C9", "pump") == 0.35
    assert claim_confidence(reply, "C9", "yes, the pump is broken indeed") == 0.35
    assert claim_confidence(reply, "C9", "filter") is None
    assert claim_confidence(reply, "C9", "") is None
    assert claim_confidence(claim("low"), "C9", "filter") == 0.35  # no text is contained in any


@given(JSON)
def test_any_json_value_gives_a_finite_number(value):
    assert math.isfinite(num(value)) and math.isfinite(claim_confidence(claim(value), "C1"))
    found = claim_confidence(value, "C1", "some text")
    assert found is None or math.isfinite(found)
