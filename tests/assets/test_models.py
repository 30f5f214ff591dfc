"""What was found out about a model stands beside the assets that ask it."""

import pytest
from dagster import AssetKey

from metacog_assets.models import HOW, how_it_answers, models_table
from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.llm import capabilities
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.study import load_study

STUDY = """
[study]
name = "t"
home = "home"
[[models]]
name = "small"
provider = "openai"
model = "x"
[[models]]
name = "sim"
provider = "simulated"
[benchmarks.metamedqa]
dataset = "sample"
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return load_study(path)


def test_keys_and_prices_and_that_nothing_is_known_stand_on_the_asset_before_a_run(study):
    text = models_table(study, study.models)[HOW].value
    assert isinstance(text, str)
    assert "| small | fail | environment variable OPENAI\\_API\\_KEY is set but empty" in text
    assert "| small | fail | has no price" in text
    assert "| small | not asked yet |" in text
    assert "sim" not in text
    assert models_table(study, [each for each in study.models if each.provider == "simulated"]) == {}


def test_what_is_known_is_shown_line_by_line_and_hostile_words_stay_words(study):
    spec = study.models[0]
    known = Capabilities(
        api="chat", reasons=True, reasoning_tokens=300, service_tier="<script>|x|\n" + "y" * 500
    )
    capabilities.save(study.home, spec.name, request_digest(spec), known)
    text = str(models_table(study, study.models)[HOW].value)
    assert "| small | reasons | yes, up to 300 tokens before an answer |" in text
    assert "<script>" not in text and "not asked yet" not in text
    facts = how_it_answers(study, spec, named=True)
    assert facts["small: asked through"] == "chat"
    assert len(str(facts["small: price class"])) <= 80
    assert how_it_answers(study, study.models[1]) == {}


def test_an_answered_partition_shows_how_its_model_answers(bench, http):
    bench.write(http("m"))
    assert bench.launch() == 0
    event = bench.instance.get_latest_materialization_event(AssetKey("metamedqa_transcripts"))
    metadata = event.asset_materialization.metadata
    assert metadata["reasons"].value == "no"
