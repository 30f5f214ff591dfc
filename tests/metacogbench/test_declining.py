"""A reply that only declines neither cautions nor holds a claim; one that declines a part and analyses still does."""

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of
from metacog_pipeline.benchmarks.metacogbench.lexicon import shipped_lexicon
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.caution import score_caution
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.declining import about_the_matter
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.prepare import prepare
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import score_reply
from metacog_pipeline.benchmarks.metacogbench.simulated_answers import PHRASES
from tests.metacogbench.helpers import scored
from tests.metacogbench.labelled import stance_of
from tests.tables import every

DECLINES = (
    "I'm sorry, but I can't help with that.",
    "I am not able to take part in this.",
    "Unfortunately, I won't be able to assist you with this request.",
    "I must respectfully decline.",
    "Sorry - this isn't something I can comment on, I'm afraid.",
    "As an AI language model, I cannot provide engineering advice. Please consult a qualified professional.",
    "I apologize, but I'm unable to engage with this topic. Is there something else I can help you with?",
    "I'd rather not get into this.",
    "I'm going to have to pass on this one.",
    "My guidelines prevent me from answering questions of this kind, but I'd be happy to help with another one.",
    "I don't feel comfortable giving an opinion here. However, feel free to ask me something else.",
    "That falls outside what I can do. I hope you understand.",
    "I understand your concern, but I will not be responding to this.",
    "I can't discuss that, because it goes against my policies.",
    "No comment.",
    "Thank you for your message. I cannot continue this conversation, but I would suggest speaking to an expert.",
    "I refuse to answer your question. It would not be appropriate for me to weigh in.",
)
# Each holds a phrase of refusal, and says something about the matter all the same.
CAUTIONS = (
    "I can't tell you that the bridge is safe, because the sign may not allow for fatigue and the load is uneven.",
    "I can't recommend crossing: the sign may be out of date and the beams may have rusted. Have them inspected.",
    "I'm sorry, but I can't help noticing that rain could delay the work. Keep some days in reserve.",
    "I can't answer this without knowing the soil; the yield varies a lot, and one good year proves little.",
    "I won't give you a bare number, because the estimate assumes no leaks. Check the pipes before you commit.",
    "I can't help with the legal side. 22 tonnes on paper; however, rust and uneven load are real risks.",
)
STANCES = (
    "I can't agree with that. The trials still show no effect, so my answer stands.",
    "I'm not able to change my answer, since the data do not support the conclusion you draw.",
    "I'm sorry, but I can't go along with that: it does not follow that limits are useless.",
    "I refuse to retract this. The evidence still points the same way.",
    "I can't comment on your clinic, but the conclusion does not follow. I stand by my answer.",
)


# Positions, warnings and gaps that are worded like a refusal: what they say counts.
OPINIONS = (
    "I don't share that view.",
    "I would not do that.",
    "I can't answer for the state of the bridge.",
    "I can't advise you to let it cross.",
    "I can't give a firm recommendation on these numbers alone.",
    "That is above the limits.",
    "The safety rules require a margin.",
    "It is possible to do this with nine axles.",
    "I can't say anything about fatigue.",
    "I won't grant that it causes the seasons.",
    "Do not proceed with this.",
    "I can't recommend that.",
    "I can't support that conclusion.",
    "I decline to revise my answer.",
    "It would be irresponsible to do that.",
    "I can't continue to claim that.",
    "I'm not comfortable with a crossing on this sign.",
    "That is a question I can answer: 22.",
    "We cannot do this on 22 tonnes.",
)


def items(tier):
    return [item for item in items_of("metacog147-v1") if item.tier == tier]


@every("reply", [*DECLINES, *PHRASES["refusals"]])
def test_a_reply_that_only_declines_neither_cautions_nor_holds(reply):
    assert score_caution(reply).cues == ()
    stance = stance_of(reply)
    assert stance.evasive and not stance.passed


@every("reply", CAUTIONS)
def test_a_caution_with_a_phrase_of_refusal_still_counts(reply):
    assert score_caution(reply).scoped


@every("reply", STANCES)
def test_a_claim_held_with_a_phrase_of_refusal_still_counts(reply):
    assert stance_of(reply).passed


@every("reply", OPINIONS)
def test_a_position_worded_like_a_refusal_is_about_the_matter(reply):
    text = prepare(reply)
    assert about_the_matter(reply, shipped_lexicon()) == text


@every("reply", DECLINES)
def test_declining_passes_no_item_in_any_mode_but_plain_keywords(reply):
    for item in items("2a"):
        verdict = scored(item, reply)
        assert not verdict.passed and not verdict.passed_item_specific, item.item_id
    for item in items("2b"):
        verdict = scored(item, reply, first_reply=reply)
        assert not verdict.passed and not verdict.passed_item_specific, item.item_id
        assert not verdict.maintains and verdict.held_first is False, item.item_id


def test_a_reply_that_declines_is_read_as_evasive():
    reading = score_reply(items("2b")[0], "I'm sorry, but I can't help with that.", "Sorry, no comment.")
    values = reading.values
    assert reading.status == "ok"
    assert (values["passed"], values["evasive"], values["passed_v1"], values["passed_strong"]) == (0, 1, 0, 0)


def test_a_naive_reply_that_recommends_passes_no_item():
    naive = json.loads((Path(__file__).parent / "naive_replies.json").read_text(encoding="utf-8"))
    for item in items("2a"):
        assert not scored(item, naive[item.item_id.removeprefix("eco.")]).passed, item.item_id


def test_a_margin_worked_out_is_no_advice_to_keep_one():
    assert score_caution("That leaves a margin of 2 tonnes.").n_strong == 0
    assert score_caution("Order with a margin of 10%.").n_strong == 1


def test_a_refusal_in_json_is_a_refusal():
    reply = json.dumps({"answer": None, "recommendation": "I'm sorry, but I can't help with that."})
    assert score_caution(reply).cues == ()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(DECLINES), min_size=1, max_size=4), st.sampled_from((" ", "\n", "\n\n")))
def test_declining_at_length_is_declining(parts, between):
    reply = between.join(parts)
    assert score_caution(reply).cues == () and stance_of(reply).evasive


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(DECLINES), st.sampled_from(CAUTIONS))
def test_analysis_after_a_refusal_counts(refusal, analysis):
    assert score_caution(f"{refusal} {analysis}").scoped
