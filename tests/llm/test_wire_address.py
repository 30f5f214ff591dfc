"""Which address is asked, and which key goes there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import ModelSpec, base_url, key_of, key_variable
from tests.tables import every


def spec(provider="openai", **fields):
    return ModelSpec(name="mine", provider=provider, model="x", **fields)


@pytest.mark.parametrize(
    ("provider", "variable"),
    [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY"), ("gemini", "GEMINI_API_KEY")],
)
def test_the_usual_variable_serves_the_official_address(provider, variable):
    assert key_variable(spec(provider)) == variable
    assert key_variable(spec(provider, base_url=base_url(spec(provider)) + "/")) == variable
    assert key_of(spec(provider), {variable: " secret\n"}) == "secret"


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_the_usual_key_is_never_sent_to_another_address(provider):
    elsewhere = spec(provider, base_url="http://127.0.0.1:8000/v1")
    assert not elsewhere.at_official_address
    assert key_of(elsewhere, {"OPENAI_API_KEY": "s", "ANTHROPIC_API_KEY": "s", "GEMINI_API_KEY": "s"}) is None


def test_a_named_variable_is_taken_anywhere():
    assert key_of(spec(base_url="http://h/v1", api_key_env="MINE"), {"MINE": "s"}) == "s"


@pytest.mark.parametrize("provider", ["replay", "simulated"])
def test_in_process_providers_need_no_key(provider):
    assert key_of(spec(provider), {}) is None


@pytest.mark.parametrize("value", [None, "", "   "])
def test_a_missing_key_names_the_model_and_the_variable(value):
    environment = {} if value is None else {"OPENAI_API_KEY": value}
    with pytest.raises(StudyError, match=r"mine.*OPENAI_API_KEY"):
        key_of(spec(), environment)


@pytest.mark.parametrize("value", ["se cret", "secr\u00e9t", "se\ncret", "se\x00cret"])
def test_a_key_that_cannot_stand_in_a_header_is_refused_without_being_shown(value):
    with pytest.raises(StudyError, match="OPENAI_API_KEY") as caught:
        key_of(spec(), {"OPENAI_API_KEY": value})
    assert "cr" not in str(caught.value).replace("characters", "")


@every(
    ("provider", "spelled", "same"),
    [
        ("openai", "http://host:8000/v1/", "http://host:8000/v1"),
        ("openai", "HTTP://Host:8000/v1//", "http://host:8000/v1"),
        ("openai", "https://host:443/V1", "https://host/V1"),
        ("openai", "http://host:80", "http://host"),
        ("openai", "https://API.openai.com/v1/", None),
        ("anthropic", "https://api.anthropic.com/", None),
        ("gemini", "https://generativelanguage.googleapis.com:443", None),
    ],
)
def test_an_address_is_one_address_however_it_is_spelled(provider, spelled, same):
    one, other = spec(provider, base_url=spelled), spec(provider, base_url=same)
    assert one.identity_fields() == other.identity_fields()
    assert base_url(one) == base_url(other)
    assert one.at_official_address == (same is None)


@pytest.mark.parametrize(
    "other", ["https://host/v1", "http://host/V1", "http://host/v2", "http://host:81/v1"]
)
def test_another_address_is_another_model(other):
    assert spec(base_url=other).identity_fields() != spec(base_url="http://host/v1").identity_fields()


@given(text=st.text(max_size=30))
def test_any_text_has_one_spelling(text):
    once = spec(base_url="http://" + text).identity_fields()["base_url"]
    assert once is None or spec(base_url=once).identity_fields()["base_url"] == once
