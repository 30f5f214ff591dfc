"""Rows of models: parameters of simulated observers under their new names, answers kept under the old ones."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from metacog_pipeline.llm.spec import RENAMED, ModelSpec, ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling
from metacog_pipeline.transcripts.identity import answer_id

# Computed by version 0.1 from the same parameters.
KEPT = "751895610da63f46d21cb8d8c88671650359a69ff739e5b47cba97b75b25944c"


def test_answers_of_an_observer_are_found_under_the_names_of_version_0_1() -> None:
    observer = ObserverSpec(untidiness=0.3, warning_response=0.5, sycophancy=0.2)
    spec = ModelSpec(name="a", provider="simulated", observer=observer)
    request = ChatRequest((Message("user", "Who made it?"),), Sampling())
    assert answer_id(spec, request) == KEPT


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_name_is_answered_with_the_new_one(old: str) -> None:
    with pytest.raises(ValidationError, match=f"{old} is now {RENAMED[old]}"):
        ObserverSpec.model_validate({old: 0.5})
