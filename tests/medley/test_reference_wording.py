"""The authors' words, read from a folder: as literals only, and refused where they are not what is needed."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from metacog_pipeline.benchmarks.medley import reference_wording
from metacog_pipeline.benchmarks.medley.presentation import REFERENCE_MASKING, presented
from metacog_pipeline.benchmarks.medley.prompts import b_social_messages, step_a_messages
from metacog_pipeline.benchmarks.medley.reference_wording import authors_wording, load
from metacog_pipeline.benchmarks.medley.settings import Settings
from metacog_pipeline.benchmarks.medley.simulated import SimulatedRespondent
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Sampling
from tests.tables import every

TEXTS = {
    "step_a": 'Case\\n{vignette}\\nAnswer with {{"assessment": "..."}}',
    "step_b_private": "Yours: {step_a_response}\\nCase {vignette} again",
    "step_b_social": "Yours: {step_a_response}\\nCase {vignette}\\nThey: {analyst_outputs}\\nAll: {jackknifed_consensus}.",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in TEXTS.items():
        source = f'import src.nowhere\nraise SystemExit\nPROMPT_TEMPLATE = """{text}"""\n'
        (tmp_path / f"{name}.py").write_text(source)
    authors_wording.cache_clear()
    return tmp_path


def test_texts_are_read_and_nothing_is_run(folder, instance):
    words = load(folder)
    (message,) = step_a_messages(instance, words)
    assert message.content == f'Case\n{instance.vignette}\nAnswer with {{"assessment": "..."}}'
    shown = presented(instance, "normal", REFERENCE_MASKING)
    (message,) = b_social_messages(shown, "{vignette}", words, REFERENCE_MASKING)
    read = words.read("b_social", False, message.content)
    assert read["step_a"] == "{vignette}" and "confidence" not in read["analysts"]
    first = json.loads(read["analysts"])[0]
    assert first["model_id"] == instance.analysts[0].model_id
    assert list(first["response"]["claim_level_assessments"][0]) == ["claim_id", "reasoning", "position"]
    assert read["analysts"].startswith('[\n  {\n    "model_id"') and '\n  "method"' in read["consensus"]


def test_a_simulated_follower_reads_analysts_in_these_words(folder, instance):
    words = load(folder)
    follower = SimulatedRespondent([instance], ObserverSpec(character="crowd-follower", seed=1), words)
    shown = presented(instance, "normal", REFERENCE_MASKING)
    request = ChatRequest(b_social_messages(shown, "{}", words, REFERENCE_MASKING), Sampling(seed=1))
    said = json.loads(follower(request))
    assert "Most analysts support C1" in said["claim_level_assessments"][0]["reasoning"]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("step_a", "PROMPT_TEMPLATE = 'no place'"),
        ("step_a", "PROMPT_TEMPLATE = '{vignette} {secret}'"),
        ("step_a", "PROMPT_TEMPLATE = '{vignette} {{{{scale}}}}'"),
        ("step_a", "PROMPT_TEMPLATE = '{vignette} {'"),
        ("step_a", "PROMPT_TEMPLATE = open('x').read()"),
        ("step_b_private", "PROMPT_TEMPLATE = "),
        ("step_b_social", ""),
        ("step_b_social", "\0"),
    ],
)
def test_other_files_are_refused_by_name(folder, name, source):
    (folder / f"{name}.py").write_text(source)
    with pytest.raises(StudyError, match=f"{name}.py"):
        authors_wording(folder)


def test_a_missing_package_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr(reference_wording, "PACKAGE", "no-such-package")
    with pytest.raises(StudyError, match="is not installed; install it"):
        reference_wording.installed()
    with pytest.raises(StudyError, match="name the folder it is installed in"):
        load(tmp_path)


@every(
    ("keys", "said"),
    [
        ({"dataset": "sample"}, "state theirs"),
        ({"anonymise": True}, "leave anonymise out"),
        ({"order": "seeded"}, "leave order out"),
        ({}, None),
        ({"anonymise": False}, None),
    ],
)
def test_what_does_not_go_with_these_words_is_refused(keys, said):
    study = SimpleNamespace(judges=(), models=(), path=Path("/nowhere/study.toml"))
    found = list(Settings(wording="reference", **keys).check(study))
    assert (found == []) if said is None else (len(found) == 1 and said in found[0])
