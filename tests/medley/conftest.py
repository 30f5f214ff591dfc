"""One small instance written for these tests, and replies to it."""

import pytest
from hypothesis import settings

from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, instance_from_published

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

LABELS = ("very_high", "high", "moderate", "low", "very_low")


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
