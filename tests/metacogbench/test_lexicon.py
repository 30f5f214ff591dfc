"""The lexicon: data with categories, a study's own file, one-line errors, regexes that cannot run away."""

import json
from pathlib import Path

import pytest

from metacog_pipeline.benchmarks.metacogbench import lexicon
from metacog_pipeline.benchmarks.metacogbench.lexicon import (
    SECTIONS,
    load_lexicon,
    shipped_digest,
    shipped_lexicon,
)
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.caution import score_caution
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.patterns import BadPattern, compiled
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.stance import score_stance_literally
from metacog_pipeline.errors import StudyError
from tests.metacogbench.labelled import stance_of
from tests.tables import every


@pytest.fixture
def write(tmp_path):
    def make(content, name="own.toml"):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return make


CUE = "extends = true\n[[caution]]\nid = 'idiom.wrinkle'\nregex = '\\bzorkle\\b'\n"


def test_every_cue_has_a_category_and_a_section_is_never_empty():
    words = shipped_lexicon()
    assert all(words.cues[section] for section in SECTIONS)
    assert all(cue.category for section in SECTIONS for cue in words.cues[section])


def test_pushback_and_cave_share_no_wording():
    words = shipped_lexicon()
    ids = [cue.id for section in SECTIONS for cue in words.cues[section] if section in ("pushback", "cave")]
    assert len(ids) == len(set(ids))


def test_adding_a_cue_needs_no_code(write):
    own = load_lexicon(write(CUE))
    assert not score_caution("Mind the zorkle.").ge1
    assert score_caution("Mind the zorkle.", lexicon=own).ge1
    assert score_caution("However, no.", lexicon=own).ge1  # the shipped cues are still there


def test_without_extends_a_section_is_replaced(write):
    own = load_lexicon(write(CUE.removeprefix("extends = true\n")))
    assert not score_caution("However, this is risky.", lexicon=own).ge1
    assert stance_of("I disagree.", lexicon=own).pushback


def test_a_cue_of_equal_id_is_replaced_and_off_removes_it(write):
    own = load_lexicon(
        write("extends = true\n[[caution]]\nid = 'contrast.however'\nregex = 'however'\noff = true\n")
    )
    assert not score_caution("However, 4.", lexicon=own).ge1


def test_json_lexicons_load(write):
    content = json.dumps(
        {"version": "0.1", "note": "x", "cave": [{"id": "a", "regex": "zorkle", "strength": "strong"}]}
    )
    assert stance_of("zorkle", lexicon=load_lexicon(write(content, "own.json"))).cave


def test_the_digest_follows_the_content(write):
    assert load_lexicon().digest == shipped_lexicon().digest
    assert load_lexicon(write(CUE)).digest != shipped_lexicon().digest


@every(
    ("content", "said"),
    [
        ("[[caution]]\nid = 'x'\nregex = '('\n", "does not compile"),
        ("[[caution]]\nid = 'x'\nregex = '(a+)+b'\n", "could run away"),
        ("[[caution]]\nid = 'x'\nregex = '(?:a|a)*b'\n", "could run away"),
        ("[[caution]]\nid = 'x'\nregex = 'a.*b.*c'\n", "could run away"),
        ("[[caution]]\nid = 'x'\nregex = 'a*'\n", "matches the empty text"),
        ("[[caution]]\nid = 'x'\nregex = '<nomacro> x'\n", "no macro defines"),
        ("[[caution]]\nregex = 'x'\n", "needs an id"),
        ("[[caution]]\nid = 'x'\n", "needs an id and a regex"),
        ("[[caution]]\nid = 'x'\nregex = 'a'\nweigth = 'weak'\n", "unknown key 'weigth'"),
        ("[[caution]]\nid = 'x'\nregex = 'a'\nweight = 'big'\n", "'big' is not one of"),
        ("[[caution]]\nid = 'x'\nregex = 'a'\n[[caution]]\nid = 'x'\nregex = 'b'\n", "stands there twice"),
        ("[[cautoin]]\nid = 'x'\nregex = 'a'\n", "unknown section 'cautoin'"),
        ("caution = 3\n", "no list of cues"),
        ("= broken", "cannot be read"),
    ],
)
def test_a_bad_lexicon_is_one_line_that_names_file_and_reason(write, content, said):
    path = write(content)
    with pytest.raises(StudyError, match=r"^[^\n]*$") as caught:
        load_lexicon(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_lexicon_that_is_absent_is_named(tmp_path):
    with pytest.raises(StudyError, match="cannot be read"):
        load_lexicon(tmp_path / "none.toml")


@every("pattern", [r"(\w+\s*)+$", r"(a|aa)*c", r"((ab)*)*", r"(x*)(\1)", r"(?:[a-z]+ ?){0,50}!", r".*.*x"])
def test_patterns_that_could_run_away_are_refused(pattern):
    with pytest.raises(BadPattern):
        compiled(pattern)


@every(
    "pattern",
    [
        r"\bna(?:i|ï)ve(?:ly)?\b",
        r"\bover[- ]?simplif\w*",
        r"\b(?:not|rarely|never) (?:\w+ )?linear\w*",
        r"\btreatment a\b.{0,40}\bbetter\b",
        r"\b(?:data) (?:still |does |actually )*shows?\b",
        r"\bpooled\b.*\bwrong\b",
        r"\b(?:refin|qualif)\w* (?:\w+ ){0,4}(?:not|rather than)\b",
        r"\b(?:19|20)\d{2}\b",
    ],
)
def test_patterns_of_usual_shape_are_taken(pattern):
    assert compiled(pattern) is not None


def test_literal_modes_match_inside_words():
    assert score_stance_literally("The distribution is wide.").pushback_v1
    assert score_caution("An asterisk.").lit1
    assert not score_caution("An asterisk.").ge1


def test_the_literal_lists_have_the_published_lengths():
    literal = shipped_lexicon().literal
    assert len(literal["pushback_v1"]) == 32
    assert len(literal["pushback_v1"]) + len(literal["pushback_v2"]) == 50
    assert all(word == word.lower() for words in literal.values() for word in words)


def test_what_ships_is_taken_as_a_lexicon_of_ones_own_would_be():
    data, ours = lexicon._shipped(), shipped_lexicon()
    macros = {str(name): str(text) for name, text in data["macros"].items()}
    for section in SECTIONS:
        assert lexicon._cues(data[section], section, macros, Path("shipped")) == ours.cues[section]
    assert lexicon._scope(data["scope"], macros) == ours.scope


def test_to_tell_what_replies_are_read_by_no_cue_is_compiled(monkeypatch):
    assert shipped_digest() == shipped_lexicon().digest
    shipped_digest.cache_clear()
    for each in ("compiled", "taken", "shipped_lexicon", "load_lexicon"):
        monkeypatch.delattr(lexicon, each)
    assert len(shipped_digest()) == 64
