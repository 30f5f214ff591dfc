"""One small instance written for these tests, and replies to it."""

import asyncio

import pytest

from metacog_pipeline.asking.types import Answer
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, instance_from_published
from metacog_pipeline.benchmarks.medley.prompts import ask_item
from metacog_pipeline.llm.types import ChatRequest, Sampling, Status


def build_reply(confidences, reasoning=(), assessment="", **more):
    """A reply that gives the five claims these confidences; None leaves a claim out."""
    reasons = list(reasoning) + [""] * 5
    items = [
        {"claim_id": claim, "confidence": value, "reasoning": reason}
        for claim, value, reason in zip(CLAIM_IDS, confidences, reasons, strict=False)
        if value is not None
    ]
    return {"assessment": assessment, "claim_level_assessments": items, **more}


def build_published(**changes):
    """The JSON object of an instance: four analysts, five claims."""
    opinions = ["high high low very_low moderate", "high moderate low low very_high"]
    opinions += ["very_high low low high high", "high high very_low low low"]
    words = [
        "The pump housing shows a hairline crack near the outlet valve.",
        "Night shift logs record a slow pressure drop before every alarm.",
        "Operators replaced the gasket twice without any lasting effect.",
        "A blocked intake filter explains both the noise and the heat.",
    ]
    outputs = [
        {
            "model_id": f"vendor/model-{letter}:latest",
            "response": build_reply(row.split(), [text] * 5, f"On the whole {text.lower()}"),
        }
        for letter, row, text in zip(("alpha", "beta", "gamma", "delta"), opinions, words, strict=True)
    ]
    jsd = [0.05, 0.1, 0.2, 0.36, 0.3]
    given = {
        "instance_id": "PUMP_001",
        "domain": "troubleshooting",
        "vignette": "A cooling pump in a dairy raises an alarm every second night.",
        "is_known_answer": True,
        "is_error_detection": False,
        "key_claims": [
            {"claim_id": claim, "claim_text": "", "majority_strength": 9 - place, "jsd_score": jsd[place]}
            for place, claim in enumerate(CLAIM_IDS)
        ],
        "ensemble_outputs": outputs,
    }
    return {**given, **changes}


def build_instance(verified_wrong=(), known="C3", **changes):
    consensus = dict(zip(CLAIM_IDS, (0.8, 0.7, 0.2, 0.4, 0.5), strict=True))
    answer = {"correct_answer": "the filter", "target_wrong_claim": known} if known else None
    return instance_from_published(
        build_published(**changes),
        {"claim_confidences": consensus, "claim_details": {}, "method": "test"},
        verified_wrong=verified_wrong,
        known_answer=answer,
    )


@pytest.fixture
def instance():
    return build_instance()


@pytest.fixture(scope="session")
def make_instance():
    return build_instance


@pytest.fixture(scope="session")
def published():
    return build_published


@pytest.fixture(scope="session")
def reply():
    return build_reply


DEBATED = (
    "Pump {number} of the dairy raised 12 alarms within 48 hours at a pressure of 3.5 bar. The outlet valve was replaced "
    "in week 7. Operators measured 61 degrees at the bearing and found the intake filter clogged by limescale."
)
STRONG_REASON = (
    "12 alarms within 48 hours at 3.5 bar, 61 degrees at the bearing and a clogged intake filter: "
    "pressure falls before anything else."
)
WEAK_REASON = "That is how it goes in my experience."


def build_debate(number=1, strong="high", weak="low", crowd=5, strong_reason=STRONG_REASON, **changes):
    """A case where one analyst argues well for `strong`, and a crowd says `weak` without a reason; on every claim."""
    opinions = [("vendor/thorough", strong, strong_reason)]
    opinions += [(f"vendor/crowd-{place}", weak, WEAK_REASON) for place in range(crowd)]
    outputs = [
        {"model_id": model, "response": build_reply([label] * 5, [reason] * 5, f"{model} says: {reason}")}
        for model, label, reason in opinions
    ]
    values = {"very_high": 0.9, "high": 0.75, "moderate": 0.5, "low": 0.25, "very_low": 0.1}
    value = values[weak if crowd else strong]
    given = build_published(
        instance_id=f"PUMP_{number:03d}", vignette=DEBATED.format(number=number), ensemble_outputs=outputs
    )
    return instance_from_published(
        {**given, **changes},
        {"claim_confidences": dict.fromkeys(CLAIM_IDS, value), "claim_details": {}, "method": "test"},
        known_answer={"correct_answer": "the filter", "target_wrong_claim": "C1"},
        selected_models=[one["model_id"] for one in outputs],
        position=number,
    )


def converse_with(respond, item, condition="normal", mode="text", seed=1):
    """Ask a respondent every step of an instance; return its replies and the requests by step."""
    replies, requests = {}, {}

    async def ask(step, messages, *, constraint=None, max_tokens=None, top_logprobs=None):
        sampling = Sampling(seed=seed, max_tokens=max_tokens, top_logprobs=top_logprobs)
        request = ChatRequest(tuple(messages), sampling, constraint, step)
        said = respond(request)
        answer = said if isinstance(said, Answer) else Answer(Status.OK, said)
        replies[step], requests[step] = answer.text, request
        return answer

    asyncio.run(ask_item(item, condition, mode, ask, 1))
    return replies, requests


@pytest.fixture(scope="session")
def converse():
    return converse_with
