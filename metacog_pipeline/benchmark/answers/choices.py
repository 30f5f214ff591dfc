"""Which option a reply takes: by its letter, its text, its position, or in other words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

from metacog_pipeline.benchmark.answers import choice_words as words
from metacog_pipeline.benchmark.answers.clauses import Places, subordinate
from metacog_pipeline.benchmark.answers.reading import AnswerKey, Prepared, Reading
from metacog_pipeline.benchmark.answers.text import folded, uncased
from metacog_pipeline.benchmark.answers.word_answers import occurrences
from metacog_pipeline.benchmark.cells import truth

_OPTION = re.compile(r"(?:^|\s)\(?([A-J])[).:]\s*(.+?)(?=\s+\(?[A-J][).:]\s|\s*$)", re.DOTALL)
_T = TypeVar("_T")
_ALPHABET = "ABCDEFGHIJ"
_LETTER = re.compile(r"(?<![A-Za-zÀ-ɏ0-9_'])(?<!\b[A-Za-z]\.)(?<!\b[Nn]/)[A-Ja-j](?![A-Za-zÀ-ɏ0-9_'])")
# "option b", "answer is b": the words that make a small letter the name of an option
_KIND = re.compile(
    r"(?<![A-Za-z])(?:(?P<own>option|choice|letter|statement)|answer)(?P<set> is|:| ?=)?[ ]?[\"'(\[]?\Z", re.I
)
_ARTICLE_A = re.compile(
    r"A (?!(?:and|or|is|not|rather|because|but|although|over|instead"
    r"|was|are|were|would|will|it|also|seems|wins|has|makes|must|follows)\b)[a-z]"
)
# What stands between two namings of one option: "Jupiter (B)", "B) Jupiter", "Jupiter, which is option B".
_APPOSED = re.compile(r"[ ()\[\]:.,=|\"'-]{0,4}(?:(?:i\.e\.|namely|which is|that is|is)[ ,:]{1,2})?[(\"']?")
_MISNAMED = re.compile(r"[ ):\]-]{1,4}")  # "B) Earth" takes B
_BESIDE = re.compile(r"[ ).:\]-]{1,4}")
# What stands between two options of which the same is said: "A, C and D", "A/B", "B or perhaps C".
_JOINED = re.compile(
    r"[ ]?,?[ ]?(?:\b(?:and|or|nor|und|oder|et|ou|y|o)\b[ ]|[ ]?/[ ]?|[ ]?&[ ]?|[ ]?[和或与及、][ ]?)"
    r"(?:(?:perhaps|maybe|possibly|even|also|either|the|option) ){0,2}"
)
_REMARK_BEHIND = re.compile(r" ?\([^()\n]{1,60}\)")
# A comma joins two options where the list goes on or ends: "A, C are wrong", but not "B, D is fifth".
_LISTED_ON = re.compile(
    r"[)\]\"']*(?: ?[,;.!?:\n)\]\"]|\Z| ?[/&]| (?:and|or|nor|und|oder|et|ou|y|o|are|were|both|all)\b)"
)
_ENDS = re.compile(r"[)\]\"']*\s*(?:[.!?;\n]|\Z)")
_ONE_DOES = re.compile(r"[)\]\"']* (?:is|was|has|does|isn't|doesn't|would|seems|looks|comes)\b")
_OF_TWO = re.compile(r"\b(?:and|or)\b|[/&]")
_BEFORE_ALONE = re.compile(r"(?:[.!?\n]|\A)\W*\Z")  # what stands in a sentence of its own
_BEHIND_ALONE = re.compile(r"\W*(?:\n|\Z)")
_MANY = 30  # options named at either end of a text that are looked at
_TURNS = 4  # places at which a text corrects itself that are looked at
_BARE_LINE = re.compile(r"(?:[^\w\n]|\[[xX]\])*")
_ASKS_FOR_NOT = re.compile(r"\b(?:not|false|incorrect|except|untrue|wrong|isn't|aren't|cannot)\b", re.I)
_FIRST = ("first", "second", "third", "fourth", "fifth", "sixth")
_POSITION = re.compile(
    rf"\b(?P<n>{'|'.join(_FIRST)}|last|final(?! (?:choice|answer))|1st|2nd|3rd|4th|5th"
    rf"|penultimate)[ -](?:option|one|choice"
    rf"|answer|statement|alternative"
    r"|possibility)\b|\b(?:option|choice|number|no\.?|#) ?(?P<digit>[1-9])\b",
    re.IGNORECASE,
)
_NEITHER = re.compile(
    r"\bnone of (?:them|these|the (?:above|options|others))\b|\bneither\b(?! \(?[A-J]\b)", re.IGNORECASE
)
_SMALL = "the a an of is are be to it that this in from what which and or by must at least for with"
_STOP = frozenset(_SMALL.split())
_ASKING = "who whom whose when where how following these those option statement answer correct true"
_NO_TELLING = re.compile(
    r"\b(?:cannot|can't|can not|could not|impossible|not possible|no way|undetermin\w*|indetermin\w*|not"
    r" enough|insufficient)\b",
    re.I,
)
# Who does not know says neither: "I don't know if that's true", "unclear whether it is".
_NOT_KNOWN = re.compile(
    r"\b(?:whether|unclear|uncertain|unsure|undecided|unknown|debatable|no (?:idea|clue|opinion)|depends|insufficient)\b"
    r"|(?:\bnot|n't) (?:\w+ )?(?:sure|certain|clear|known|confident|enough|aware)\b"
    r"|(?:\bnot|n't|\bcannot|\bunable to|\bimpossible to|\b(?:hard|difficult) to|\bno way to|\bno way of)"
    r" (?:\w+ ){0,2}?(?:know\w*|sa(?:y|ying)|tell\w*|determin\w+|decid\w+|judg\w+|verify|confirm|assess|evaluate)\b",
    re.I,
)
_FIRST_SAID = re.compile(
    r"(?:[^.;!?\n]{0,200}\?\s*)?([^.;!?\n]{0,300})(?!\?)"
)  # the first sentence that asks nothing
_NEGATES = re.compile(
    r"\b(?:not|never|no(?! (?:doubt|question)\b)|neither|nor|isn't|aren't|doesn't|n't|dry)\b|n't\b",
    re.IGNORECASE,
)
_BOTH = r"(?!\W*(?:or|and|/)\W*(?:no|not|yes|true|false)\b|\n\W*(?:no|yes|true|false)\b)"
_AGREES = re.compile(rf"^\W*(?:yes|yeah|yep|correct|true|sí|si|是|예|네)\b{_BOTH}", re.IGNORECASE)
_REFUSES = re.compile(
    r"^\W*(?:no|nope|false|incorrect|否|아니)\b"
    rf"(?! (?:doubt|question|weaver|idea|clue|opinion|way|one|answer|comment))(?!\W*,? (?:i|you) \w){_BOTH}",
    re.IGNORECASE,
)
_BOTH_SAID = re.compile(
    r"\b(?:yes|true)\W{1,3}(?:(?:and|or)\W{1,3})?(?:no|false)\b|\b(?:no|false)\W{1,3}(?:(?:and|or)\W{1,3})?(?:yes|true)\b",
    re.I,
)
_TRUTH = re.compile(r"\b(?:(true|correct|right)|false|incorrect|wrong|untrue)\b", re.IGNORECASE)
_LONGEST_WORD = 30  # characters
_UNLIKE, _AHEAD = 0.5, 0.15
_HALF, _MOST = 0.5, 0.6  # of what is asked for
_BARE_LETTER = 3  # characters of a letter in brackets
_NEAR = 80  # characters before and behind an option in which it is judged
# Ranks: an option that is called the choice, is marked right in a list, begins the reply, has said of it what is asked for,
# is named, is named in a remark or a reason, and is one that others take.
_CHOICE, _MARKED, _BEGINS, _ANSWERS, _PLAIN, _REMARK, _SLIGHT = 5.0, 5.2, 4.0, 3.9, 3.0, 1.0, 0.0
_BY_LETTER, _FREELY, _CONCLUDES = 0.5, 0.3, 0.1  # what is added to a rank


@dataclass(frozen=True, slots=True)
class Named:
    """Options that are named in one: which, from where to where, and whether by a letter; ``rank`` where it is known, and
    the ``share`` of what is asked for that is said of them."""

    letters: tuple[str, ...]
    start: int
    end: int
    lettered: bool = False
    rank: float | None = None
    share: float = 0.0


@lru_cache(maxsize=512)
def options_of(question: str) -> tuple[tuple[str, str], ...]:
    """Return (letter, text) of the options a question lists as ``A) ... B) ...``; none where they are not in order."""
    found = [(each[1], each[2].strip(" .;,")) for each in _OPTION.finditer(question[-8_000:])]
    while found and found[0][0] != "A":
        found = found[1:]
    letters = [letter for letter, _ in found]
    return tuple(found) if letters == list(_ALPHABET[: len(letters)]) and len(letters) > 1 else ()


def read(prepared: Prepared, key: AnswerKey, *, labelled: bool) -> Reading:
    """Return the reading of a choice."""
    text, wanted = prepared.text, str(key.forms[0]).strip().upper()
    options = dict(options_of(key.question))
    if (letter := _true_or_false(text, options)) is not None:
        return _decided([letter], wanted)
    known = {*options, wanted} if options else {*_ALPHABET}
    if re.fullmatch(r"[\W_]*[A-Ja-j][\W_]*", text):
        letter = re.sub(r"[\W_]", "", text).upper()
        if letter not in known or not words.MARK.search(text):
            return _decided([letter] if letter in known else [], wanted)
    reply = _Reply(text, options, key.question, known)
    taken = reply.taken()
    if not taken:
        left = {letter: option for letter, option in options.items() if letter not in reply.denied()}
        letter = None if key.exact else _in_other_words(text, reply.places, left, key.question)
        return _decided([letter] if letter else [], wanted)
    best = max(each.rank or 0 for each in taken)
    chosen = [each for each in taken if each.rank == best]
    letters = [letter for each in (chosen if labelled else chosen[-1:]) for letter in each.letters]
    return _decided(list(dict.fromkeys(letters)) if known.issuperset(letters) else [], wanted)


def _true_or_false(text: str, options: dict[str, str]) -> str | None:
    """Return the option that a word for true or false alone takes, 1 and 0 too, where these, or yes and no, are options."""
    letters = (
        {truth(option): letter for letter, option in options.items()} if len(text) <= _LONGEST_WORD else {}
    )
    word = re.sub(r"^\W+|\W+$", "", text)
    if not {True, False} <= letters.keys() or word.upper() in options:
        return None
    said = {"1": True, "0": False}.get(word, truth(word))
    return None if said is None else letters[said]


def _decided(letters: list[str], wanted: str) -> Reading:
    if not letters:
        return Reading(None, False, "no option is taken")
    if len(letters) > 1:
        shown = "; ".join(letters)
        return Reading(shown, None, f"two options of equal standing: {shown}")
    verb = "is" if letters[0] == wanted else "is not"
    return Reading(letters[0], letters[0] == wanted, f"option {letters[0]} {verb} the answer")


class _Reply:
    """A reply and the options it names; each is judged by what stands around it, up to the options named beside it."""

    def __init__(self, text: str, options: dict[str, str], question: str, known: set[str]) -> None:
        self.text, self.options, self.question, self.known = text, options, question, known
        self.places = Places(text)
        self.asks_for_not = _ASKS_FOR_NOT.search(_asked(question)) is not None
        single = [*_lettered(text, options), *_positions(text, options), *_texts(text, options)]
        named = _joined(text, _apposed(text, sorted(single, key=lambda each: (each.start, -each.end))))
        self.named = _ends_of(named)

    def taken(self) -> list[Named]:
        """Return the options that are not set aside, with their ranks."""
        listed = self._listed()
        verdicts = self._verdicts(listed)
        right = [letter for at, good in verdicts.items() if good for letter in self.named[at].letters]
        wrong = [letter for at, good in verdicts.items() if not good for letter in self.named[at].letters]
        if len({*right}) > 1 and len({*wrong}) == 1 and self.asks_for_not:
            verdicts = {at: not good for at, good in verdicts.items()}
            right = wrong
        found = []
        for at, each in enumerate(self.named):
            if at in verdicts:
                sure = _MARKED if len({*right}) == 1 else _REMARK
                rank = sure if verdicts[at] else None
            elif at in listed:
                left_over = not right and 0 < len({*wrong}) == len(listed) - 1
                rank = _ANSWERS if left_over or self._share(at) >= _MOST else None
            else:
                rank = each.rank if each.rank is not None else self._rank(at)
            # A letter that no option has answers nothing where it is chosen, and is none elsewhere: "45 km/h".
            if rank is not None and (rank >= _BEGINS or self.known.issuperset(each.letters)):
                found.append(replace(each, rank=rank, share=self._share(at)))
        return self._corrected(found)

    def denied(self) -> set[str]:
        """Return the options whose text is there, which is then set aside or only listed."""
        return {
            letter
            for each in self.named
            for letter in each.letters
            if letter in self.options
            and folded(self.options[letter]) in folded(self.text[each.start : each.end])
        }

    def _corrected(self, found: list[Named]) -> list[Named]:
        """Return what is taken behind the last place at which the text corrects itself, where an option is taken there."""
        turns = [turn.end() for turn in words.TURNED.finditer(self.text)]
        for turn in reversed(turns[-_TURNS:]):
            for each in reversed(found):
                if each.start >= turn and (each.rank or 0) >= _REMARK and self._turned_to(each, turn):
                    return [each]
        if not any((each.rank or 0) >= _BEGINS for each in found):
            cut = self.places.corrected_from()
            found = [each for each in found if each.start >= cut] or found
        return found

    def _turned_to(self, each: Named, turn: int) -> bool:
        """Return whether a text turns to an option: it is chosen, follows at once, stands alone, or answers."""
        gap, behind = self.text[turn : each.start][-_NEAR:], self.text[each.end : each.end + _NEAR]
        return (
            (each.rank or 0) >= _CHOICE
            or each.share >= _HALF
            or bool(words.AT_ONCE.fullmatch(gap) and words.FREE.match(behind))
            or bool(_BEFORE_ALONE.search(gap) and _BEHIND_ALONE.match(behind))
        )

    def _rank(self, at: int) -> float | None:
        """Return the rank of what is named; None where it is set aside."""
        each, text = self.named[at], self.text
        lead, tail = self._around(at)
        wide = text[max(0, each.start - _NEAR) : each.start]
        piece = words.TURN.split(wide)[-1]
        begins = not text[: each.start].strip(" ([\"'")
        letter = _BY_LETTER if each.lettered else 0.0
        chosen, affirmed = self._chosen(at), words.AFFIRMED.match(tail)
        if excepted := words.ALL_BUT.search(lead):
            return _CHOICE + letter if bool(excepted["none"]) != bool(words.REFUTED.search(tail)) else None
        if self.asks_for_not and words.IS_NOT.match(tail):
            return _CHOICE
        if (
            words.DENIED.search(piece)
            or (words.SET_ASIDE.search(piece) and not chosen)
            or words.ASKED_AND_DENIED.match(text, each.end)
        ):
            return None
        if (words.WRONG if begins or chosen else words.FAILS).match(tail):
            return None
        if words.ASKED.match(text, each.end) or self._remarked(each):
            return _REMARK + letter
        if words.DOUBTED.search(words.TURN.split(lead)[-1]) or (words.SLIGHTED.match(tail) and not affirmed):
            return _SLIGHT + letter
        last = words.LAST.search(lead) if not re.search(r"\w", text[each.end :]) else None
        if last and last["alone"]:  # a letter, but not an option repeated, in a sentence by itself
            last = last if each.lettered and each.end - each.start <= _BARE_LETTER else None
        if chosen or last or (words.SAID.search(lead) and words.FREE.match(tail)):
            return _CHOICE + letter
        clause = re.split(r"[.!?]\s", self.places.clause(each.start))[-1]
        if subordinate(clause) or words.GROUND.search(clause):
            return _REMARK + letter
        if affirmed:
            return _CHOICE + letter
        if begins or (each.start < _NEAR and words.SURELY.fullmatch(text[: each.start])):
            return _BEGINS + (_FREELY + letter / 2 if words.FREE.match(tail) else 0.0)
        if len(each.letters) > 1 and (words.AMONG.search(lead) or len(each.letters) == len(self.options) > 2):
            return _REMARK + letter
        share, follows = self._share(at), words.FOLLOWS.search(lead)
        if share >= _HALF and (follows or words.TURN.search(lead)):
            return _CHOICE
        half = words.PREDICATE.search(lead) or words.IS_THE.match(tail)
        if share >= (_HALF if half else _MOST):
            return _ANSWERS + share / 20
        if (
            follows and follows["begins"]
        ):  # "Therefore, the Nile is ..." outranks a remark at the beginning only
            return _BEGINS + _CONCLUDES
        bare = words.BARE.search(lead) and words.FREE.match(tail)
        return _ANSWERS if follows or bare else _PLAIN + letter

    def _chosen(self, at: int) -> bool:
        """Return whether an option is called the answer or the choice: "the answer is B", "I pick B"."""
        start = self.named[at].start
        return words.CHOSEN.search(self.text, start - len(self._around(at)[0]), start) is not None

    def _around(self, at: int) -> tuple[str, str]:
        """Return what stands before and behind an option, up to the options named beside it."""
        each = self.named[at]
        before = self.named[at - 1].end if at else 0
        behind = self.named[at + 1].start if at + 1 < len(self.named) else len(self.text)
        return (
            self.text[max(before, each.start - _NEAR) : each.start],
            self.text[each.end : min(behind, each.end + _NEAR)],
        )

    def _remarked(self, each: Named) -> bool:
        """Return whether an option stands in brackets that say more than it."""
        if self.text[each.start] in "([" or not self.places.in_bracket(each.start):
            return False
        return not (self.text[each.start - 1] in "([" and self.text[each.end : each.end + 1] in (")", "]"))

    def _share(self, at: int) -> float:
        """Return how much of what the question asks for is said of an option: "Jupiter is the largest planet". What is said
        beyond it counts a little against it: "Earth is the largest rocky planet"."""
        asked = _asked_for(self.question)
        if not asked:
            return 0.0
        each, text = self.named[at], self.text
        start, end = self.places.sentence_start(each.start), self.places.sentence_end(each.end)
        if at and self.named[at - 1].end > start:
            start = max(self.named[at - 1].end, text.rfind(",", start, each.start) + 1)
        if at + 1 < len(self.named):
            end = min(end, self.named[at + 1].start)
        before, behind = max(start, each.start - 3 * _NEAR), min(end, each.end + 3 * _NEAR)
        said = f"{text[before : each.start]} {text[each.end : behind]}"
        found = _roots(said)
        if words.LESS.search(said) or not asked & found:
            return 0.0
        return len(asked & found) / len(asked) + 1 / (100 + len(found - asked))

    def _begins_line(self, at: int) -> bool:
        start = self.named[at].start
        line = self.text.rfind("\n", 0, start) + 1
        return start - line <= _NEAR and _BARE_LINE.fullmatch(self.text, line, start) is not None

    def _begins_item(self, at: int) -> bool:
        """Return whether an option begins a line, or an item of a list in one: "A - small; B - large"."""
        lead, tail = self._around(at)
        return self._begins_line(at) or (
            re.search(r"[;|,.]\s*\Z", lead) is not None and re.match(r"[ .)]*[-:=(]", tail) is not None
        )

    def _verdicts(self, listed: set[int]) -> dict[int, bool]:
        """Return which options a mark or a word calls right or wrong: "A) Mars ✗", "✅ B", "C) Venus - incorrect"."""
        marked: dict[int, bool] = {}
        worded: dict[int, bool] = {}
        line_of_last, leading = -1, False
        for at, each in enumerate(self.named):
            line = self.text.rfind("\n", 0, each.start) + 1
            lead, tail = self._around(at)
            before, (behind, *below) = lead.rsplit("\n", 1)[-1], tail.split("\n")
            if below and not behind.strip(" .:)*") and not words.MARK.search(before):
                behind = below[0]
            if line != line_of_last:
                line_of_last, leading = line, words.MARK.search(before) is not None
            marks = [*words.MARK.finditer(before if leading else behind)]
            if marks:
                mark = marks[-1 if leading else 0][0]
                marked[at] = mark in words.GOOD_MARKS or mark in ("[x]", "[X]")
            elif self._begins_item(at):
                word = words.VERDICT.search(behind)
                if word and (
                    words.JUDGES.search(behind[: word.start()]) or not re.search(r"\w", behind[word.end() :])
                ):
                    worded[at] = word["yes"] is not None
        return {**(worded if len(worded) > 1 or listed else {}), **marked}

    def _listed(self) -> set[int]:
        """Return the options that are only listed, all of them in their order."""
        found: set[int] = set()
        run: list[int] = []
        least = len(self.options) or 3
        for at, each in enumerate([*self.named, Named((), len(self.text), len(self.text))]):
            if "".join(each.letters) == _ALPHABET[: max(least, len(each.letters))]:
                found.update([] if _OF_TWO.search(self.text, each.start, each.end) else [at])
            if run and each.letters == (_ALPHABET[len(run) % 10],) and self._in_a_list(at):
                run.append(at)
                continue
            if len(run) >= least:
                found.update(run[1:] if self._heads(run) else run)
            run = [at] if each.letters == ("A",) and not self._chosen(at) else []
        return found

    def _in_a_list(self, at: int) -> bool:
        gap = self.text[self.named[at - 1].end : self.named[at].start]
        return not re.search(r"[\w>]", gap) or self._begins_item(at)

    def _heads(self, run: list[int]) -> bool:
        """Return whether the first of a list begins the text bare, and the others say more: a choice and its reasons."""
        said = [re.search(r"\w", self._around(at)[1].split("\n", 1)[0]) is not None for at in run]
        return not self.text[: self.named[run[0]].start].strip() and not said[0] and all(said[1:])


def _ends_of(found: list[_T], most: int = _MANY) -> list[_T]:
    """Return what is found; of more than ``most`` at either end the middle is left out."""
    return found if len(found) <= 2 * most else found[:most] + found[-most:]


def _lettered(text: str, options: dict[str, str]) -> Iterator[Named]:
    for found in _ends_of([*_LETTER.finditer(text)], 3 * _MANY):
        start, end = found.span()
        letter, behind = found[0].upper(), text[end : end + 1]
        kind = _KIND.search(text, max(0, start - 24), start)
        opened, closed = start > 0 and text[start - 1] in "([", behind in (")", "]")
        begins_line = behind in (".", ":") and text[:start].rpartition("\n")[2].strip(" ([\"'") == ""
        if found[0].islower() or letter in "IJ":
            if not (kind or closed or begins_line or (letter in "IJ" and behind in (".", ":"))):
                continue
            if found[0] == "a" and re.match(r" [a-z]", text[end : end + 2]):
                continue
        elif (
            letter == "A"
            and not (kind or opened or closed)
            and _ARTICLE_A.match(text, start)
            and not words.CHOSEN.search(text, max(0, start - _NEAR), start)
        ):
            continue
        if kind and kind["own"] and not kind["set"]:
            start = kind.start()
        elif opened and closed:
            start -= 1
        end += closed
        own = options.get(letter, "")
        gap = _BESIDE.match(text, end - closed)
        if own and gap and text[gap.end() : gap.end() + len(own)].casefold() == own.casefold():
            end = gap.end() + len(own)
        yield Named((letter,), start, end, lettered=True)


def _positions(text: str, options: dict[str, str]) -> Iterator[Named]:
    letters = list(options)
    for each in _POSITION.finditer(text):
        word = uncased(each["n"] or each["digit"])
        place = (
            len(letters) - 1 if word in ("last", "final") else len(letters) - 2 if word == "penultimate"
            else _FIRST.index(word) if word in _FIRST else int(word[0]) - 1
        )  # fmt: skip
        if 0 <= place < len(letters):
            yield Named((letters[place],), *each.span())


def _texts(text: str, options: dict[str, str]) -> Iterator[Named]:
    """Yield the options whose text is there; yes and no only at the beginning."""
    for letter, option in options.items():
        said = folded(option)
        if said in ("yes", "no", "true", "false"):
            agreeing = _AGREES if said in ("yes", "true") else _REFUSES
            if found := agreeing.match(text):
                yield Named((letter,), 0, found.end(), rank=_BEGINS)
            continue
        yield from (Named((letter,), start, end) for start, end in occurrences(text, option))
    neither = _NEITHER.search(text)
    offered = next(
        (letter for letter, option in options.items() if re.match(r"none|neither", folded(option))), None
    )
    if neither and offered:
        yield Named((offered,), *neither.span(), rank=_PLAIN)


def _apposed(text: str, single: list[Named]) -> list[Named]:
    """Return what is named in order, each option once where its letter and its text stand side by side."""
    found: list[Named] = []
    for each in single:
        last = found[-1] if found else Named((), 0, 0)
        if each.start < last.end:  # a letter in the text of an option, or an option in that of a longer one
            continue
        gap = text[last.end : each.start]
        same = last.letters == each.letters and last.lettered != each.lettered and _APPOSED.fullmatch(gap)
        if same or (last.lettered and not each.lettered and _MISNAMED.fullmatch(gap)):
            closes = "(" in gap and text[each.end : each.end + 1] == ")"
            found[-1] = replace(last, end=each.end + closes, lettered=True)
        else:
            found.append(each)
    return found


def _joined(text: str, named: list[Named]) -> list[Named]:
    """Return what is named, options of which the same is said as one: "A, C and D are wrong"."""
    found = named[:1]
    for last, each in pairwise(named):
        remarked, ends = _REMARK_BEHIND.match(text, last.end), _REMARK_BEHIND.match(text, each.end)
        gap = text[remarked.end() if remarked else last.end : each.start]
        end = ends.end() if ends else each.end
        if _JOINED.fullmatch(gap):
            together = "and" not in gap or not _ONE_DOES.match(text, end)
        else:
            together = gap in (",", ", ") and _LISTED_ON.match(text, end) is not None
            if together and len(found[-1].letters) == 1 and _ENDS.match(text, end):  # "instead of B, C"
                before = text[max(0, last.start - _NEAR) : last.start]
                together = not (remarked or words.DENIED.search(before) or words.SET_ASIDE.search(before))
        if together and (each.letters[0] not in found[-1].letters or found[-1].letters == each.letters):
            letters = tuple(dict.fromkeys((*found[-1].letters, *each.letters)))
            lettered = found[-1].lettered and each.lettered
            found[-1] = replace(found[-1], letters=letters, end=each.end, lettered=lettered)
        else:
            found.append(each)
    return found


def _asked(question: str) -> str:
    """Return what is asked: the last sentence before the options."""
    stem = re.split(r"(?:^|\s)\(?A[).:]\s", question, maxsplit=1)[0].strip()
    return re.split(r"[.!?:\n]\s+", stem)[-1][-400:]


@lru_cache(maxsize=512)
def _asked_for(question: str) -> frozenset[str]:
    return _roots(_asked(question)).difference(_ASKING.split())


def _in_other_words(text: str, places: Places, options: dict[str, str], question: str) -> str | None:
    """Return the one option whose words the first sentence shares most, where that is clear."""
    if len(options) < 2:
        return None
    first = text[places.sentence_start(len(text) - len(text.lstrip())) :]
    said = _FIRST_SAID.match(first)
    first = said[1] if said else ""
    plain = {folded(option): letter for letter, option in options.items()}
    if (both := _BOTH_SAID.match(text)) and text[both.end() : both.end() + 1] != "?":
        return None
    if "true" in plain and "false" in plain:
        return _called_true(first, plain)
    untold = next((letter for option, letter in plain.items() if _NO_TELLING.search(option)), None)
    unsure, turn, surely = first.partition(" but ")
    if _NOT_KNOWN.search(unsure):
        if not turn:
            return untold
        first = surely
    if "yes" in plain and "no" in plain:
        if _NO_TELLING.search(first):
            return untold
        of_the_question = bool(_stems(first) & _stems(question))
        return plain["no"] if _NEGATES.search(first) else plain["yes"] if of_the_question else None
    stems = _stems(first)
    scored = sorted(
        ((_overlap(stems, _stems(option)), letter) for letter, option in options.items()), reverse=True
    )
    best, second = scored[0], scored[1]
    return best[1] if best[0] >= _UNLIKE and best[0] - second[0] >= _AHEAD else None


def _called_true(first: str, plain: dict[str, str]) -> str | None:
    """Return the option for what a sentence calls the statement; None where it calls it both or neither."""
    called = {
        bool(told[1]) != bool(_NEGATES.search(clause, max(0, told.start() - 40), told.start()))
        for clause in re.split(r"[,:]| - |\bbut\b", first)
        if not _NOT_KNOWN.search(clause)
        for told in _TRUTH.finditer(clause)
        if not re.search(r"\bif\b", clause[: told.start()])
    }
    return plain["true" if called.pop() else "false"] if len(called) == 1 else None


def _stems(text: str) -> frozenset[str]:
    stems = (word[:-1] if len(word) > 3 and word.endswith("s") else word for word in folded(text).split())
    return frozenset("have" if word in ("own", "has") else word for word in stems if word not in _STOP)


def _roots(text: str) -> frozenset[str]:
    """Return the stems of a text, what is compared as what it is: large, larger, largest."""
    return frozenset(re.sub(r"(?<=\w{3})(?:est|er|e)\Z", "", word) for word in _stems(text))


def _overlap(said: frozenset[str], option: frozenset[str]) -> float:
    return len(said & option) / len(option) if option else 0.0
