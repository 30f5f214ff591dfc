"""The shipped cases keep the promises of their README."""

import re
from collections import Counter

import pytest

from metacog_pipeline.benchmarks.medley.construction.simulated_authors import (
    read_sample,
    sample_folder,
)
from metacog_pipeline.benchmarks.medley.construction.wording import PLACE, load_words
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DOMAINS

SHINGLE = 8  # words in a row that would make a sentence a copy


@pytest.fixture(scope="module")
def sample():
    return read_sample()


def test_there_are_twelve_cases_in_all_domains_and_two_with_a_known_answer(sample):
    assert len(sample.drafts) >= 12 and {draft.domain for draft in sample.drafts} == set(DOMAINS)
    known = [draft for draft in sample.drafts if draft.known_answer]
    assert len(known) == 2 and sum(draft.is_error_detection for draft in sample.drafts) == 1
    for draft in known:
        target = sample.beliefs[draft.draft_id][CLAIM_IDS.index(draft.known_answer.target_wrong_claim)]
        assert not target.right and target.lean > 0.5


def test_vignettes_have_200_to_400_words_and_do_not_label_claims(sample):
    for draft in sample.drafts:
        assert 200 <= len(draft.vignette.split()) <= 400, draft.draft_id
        assert not re.search(r"\bC[1-5]\b", draft.vignette) and re.search(r"\d", draft.vignette)
        assert all(text.endswith(".") and text not in draft.vignette for text in draft.claim_texts)


def test_every_claim_can_be_argued_both_ways(sample):
    sides = [belief for beliefs in sample.beliefs.values() for belief in beliefs]
    assert all(len(b.arguments_for) >= 2 and len(b.arguments_against) >= 2 for b in sides)
    texts = [text for b in sides for text in (*b.arguments_for, *b.arguments_against)]
    assert len(set(texts)) == len(texts) and all(text.endswith(".") for text in texts)
    for beliefs in sample.beliefs.values():
        assert {belief.right for belief in beliefs} == {True, False} or len(beliefs) == len(CLAIM_IDS)
    rights = Counter(belief.right for belief in sides)
    assert min(rights.values()) >= len(sides) // 4


def test_nothing_is_written_twice(sample):
    seen: dict[tuple[str, ...], str] = {}
    for draft in sample.drafts:
        words = re.findall(r"\w+", draft.vignette.lower())
        for place in range(len(words) - SHINGLE):
            piece = tuple(words[place : place + SHINGLE])
            assert seen.setdefault(piece, draft.draft_id) == draft.draft_id, " ".join(piece)


def test_the_pool_has_28_analysts_of_several_families_and_the_judges_are_of_three_others(sample):
    families = Counter(analyst.family for analyst in sample.analysts)
    assert len(sample.analysts) == 28 == len({a.name for a in sample.analysts}) and len(families) >= 8
    judges = {person.family for person in sample.verifiers}
    assert len(judges) == len(sample.verifiers) == 3 and not judges & set(families)


def test_readme_names_the_files_and_the_known_answers(sample):
    readme = (sample_folder() / "README.md").read_text(encoding="utf-8")
    files = {path.name for path in sample_folder().iterdir()} - {"README.md"}
    assert all(f"`{name}`" in readme for name in files)
    assert all(draft.draft_id in readme for draft in sample.drafts if draft.known_answer)


def test_prompts_of_the_construction_hold_their_places_and_no_others():
    words = load_words()
    assert len(words.versions) == len({name.split("@")[0] for name in words.versions}) == 8
    assert {name: " ".join(sorted(set(PLACE.findall(text)))) for name, text in words.texts.items()} == {
        "scale": "",
        "design": "ambiguity claims difficulty known_answer scenario",
        "design_known_answer": "answer target why",
        "design_again": "",
        "analyst": "claims scale vignette",
        "analyst_again": "",
        "verify": "claim consensus vignette",
        "verify_again": "",
    }
