"""A regex is tried only where it could match, and what is found is what it finds by itself."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.metacogbench.lexicon import shipped_lexicon
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers import heads
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.declining import about_the_matter
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.patterns import compiled
from metacog_pipeline.benchmarks.metacogbench.scoring_rules import score_reply
from tests import batches, hostile

CUES = [cue.regex for section in shipped_lexicon().cues.values() for cue in section]
OF_ITEMS = [
    compiled(pattern)
    for item in batches.ITEMS.values()
    for pattern in (
        *item.ack,
        *item.maintain,
        *item.overcorrection_rx,
        *(rx for f in item.factors for rx in f.any),
    )
]
WORDS = re.findall(r"[a-z']{2,}", " ".join(regex.pattern for regex in CUES))


class Counted:
    """A regex that counts how often it is tried."""

    def __init__(self, pattern):
        self.regex = re.compile(pattern, re.IGNORECASE)
        self.pattern, self.flags, self.tried, self.searched = pattern, self.regex.flags, 0, 0

    def match(self, text, at):
        self.tried += 1
        return self.regex.match(text, at)

    def finditer(self, text):
        self.searched += 1
        return self.regex.finditer(text)


@pytest.fixture
def apart(monkeypatch):
    """Regexes are taken apart at once, however short the text."""
    monkeypatch.setattr(heads, "_SHORT", 0)
    monkeypatch.setattr(heads, "_WORTH", 0)


@pytest.fixture(params=[6, pytest.param(1, marks=pytest.mark.proof)], ids=["some", "every"])
def share(request):
    """Return of how many texts a regex is tried on one, in turn; `make proofs` tries every regex on every text."""
    return request.param


def spans(found):
    return [each.span() for each in found]


def test_what_is_found_is_what_the_regex_finds(share, apart):
    wanted = {*hostile.UNITS, "cues in turn", "all units", "many numbers"}
    texts = [text.lower() for name, _, text in hostile.texts((500,)) if name in wanted]
    assert len(texts) == len(wanted)
    for turn, text in enumerate(texts):
        places = heads.Places(text)
        for regex in (*CUES, *OF_ITEMS[::9])[turn % share :: share]:
            assert spans(heads.matches(regex, places)) == spans(regex.finditer(text)), (text, regex.pattern)


@pytest.mark.proof
def test_labelled_replies_have_the_same_matches(share, apart):
    rows = (row for name in batches.FILES if "_2" in name for row in batches.rows(name))
    replies = [*dict.fromkeys(row["response"].lower() for row in rows)]  # some stand there more than once
    for turn, at in enumerate(range(0, len(replies), 40)):
        places = heads.Places("\n".join(replies[at : at + 40]))
        for regex in CUES[turn % share :: share]:
            assert spans(heads.matches(regex, places)) == spans(regex.finditer(places.text)), regex.pattern


@pytest.mark.usefixtures("apart")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=30).map(" ".join))
def test_any_text_has_the_same_matches(text):
    places = heads.Places(text)
    for regex in CUES[::7]:
        expected = spans(regex.finditer(text))
        for short in (0, len(text) + 1):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(heads, "_SHORT", short)
                assert spans(heads.matches(regex, places)) == expected, regex.pattern


def test_short_replies_have_the_same_matches(monkeypatch):
    monkeypatch.setattr(heads, "_WORTH", 0)
    rows = (row for name in ("verdicts_2b_14", "verdicts_3_3") for row in batches.rows(name))
    replies = dict.fromkeys(row["response"].lower() for row in rows)
    for turn, reply in enumerate(replies):
        places = heads.Places(reply)
        assert len(reply) < heads._SHORT
        for regex in CUES[turn % 6 :: 6]:
            assert spans(heads.matches(regex, places)) == spans(regex.finditer(reply)), regex.pattern


@pytest.mark.parametrize(
    "text", ["KELVIN ſay", "İ was wrong. ı was wrong", "i WAS wrong", "ⅸ ǅ ſtand corrected"]
)
def test_letters_that_ignorecase_takes_for_others_are_found(text, apart):
    for pattern in (r"\bkelvin say\b", r"\bi was wrong\b", r"\bstand(?:s|ing)? corrected\b", r"\bsay\b"):
        regex = re.compile(pattern, re.IGNORECASE)
        assert spans(heads.matches(regex, heads.Places(text))) == spans(regex.finditer(text))


def test_a_regex_is_tried_only_where_its_words_begin(apart):
    text = "the load may vary, however often it is said. " * 200
    absent, present = Counted(r"\bi (?:was|am) wrong\b|\bmy mistake\b"), Counted(r"\bhowever\b|\bhowled\b")
    assert not list(heads.matches(absent, heads.Places(text))) and absent.tried == absent.searched == 0
    assert len(list(heads.matches(present, heads.Places(text)))) == present.tried == 200
    assert present.searched == 0


def test_a_regex_is_taken_apart_after_it_was_searched_for_as_long():
    regex = Counted(r"\bnobody\b")
    for _ in range(40):
        list(heads.matches(regex, heads.Places("nobody said so. " * 100)))
    assert 0 < regex.searched <= 1 + heads._WORTH // 1_600 and regex.tried == 100 * (40 - regex.searched)


def test_the_scorers_of_one_reply_prepare_it_once():
    item = batches.ITEMS["hold.train"]
    about_the_matter.cache_clear()
    score_reply(item, "You're right, I was wrong. It is 45 km/h.", probe="A")
    assert about_the_matter.cache_info().misses == 1
