"""How many of its 100 tokens a reply stakes.

Labelled values come first and the last of them decides, one that only speaks of a bet ("max bet: 100", "with data my bet
would be 90") where there is no other; prose is read only where there is none: what the speaker says to bet, then amounts
of tokens. The bet of somebody else, and one that is denied, is not read; what is kept is not staked. An echoed template
and the rules said again are no bet.
"""

from __future__ import annotations

import re

from metacog_pipeline.benchmark.answers.number_words import WORDS
from metacog_pipeline.benchmark.answers.whole_scale import without_rules
from metacog_pipeline.benchmarks.metacogbench.parsing.amounts import Amount, read_amount, without_template
from metacog_pipeline.benchmarks.metacogbench.parsing.keyed import Keyed, labelled

_BET_KEY = (
    r"(?:(?:tokens?|amount|size)[-_ ]?(?:bet|staked?|wagered|wager|placed)"
    r"|(?<!best )(?<!safe )(?<!better )(?:bet|bets|wager|stake|staked|wagered)"
    r"(?:[-_ ]?(?:size|amount|placed|value|level|tokens?|in[-_ ]tokens|token[-_ ]count|made|on[-_ ]this(?: answer)?)){0,2})"
)
_KEYS = {"bet": _BET_KEY}

_SENTENCE = re.compile(r"[^\n.!?;]+(?:\.(?=\d)[^\n.!?;]+){0,50}")
_VERB = re.compile(
    r"\b(?:(?P<sure>bet|bets|betting|wager|wagers|wagering|stake|staking|gamble|gambling)"
    r"|(?P<loose>risk|risking|put|putting|commit|committing|place|placing|allocate|allocating|invest|investing|lay|laying"
    r"|venture|venturing|spend|spending|go|going|assign|assigning|set|setting|use|using|keep|keeping))\b",
    re.IGNORECASE,
)
# "I keep all 100 tokens", "holding back 80 tokens": what is kept, unless it is kept on the table.
_KEPT_WORDS = (
    r"all|every|each|one|single|of|my|the|these|those|back|safe|just|only|exactly|at least|about|around|roughly|nearly"
    r"|almost|most|other|remaining|rest|whole|entire|full"
)
_KEPT = re.compile(
    r"(?P<also>\band (?:(?:i|i'll|i'd|will|would|instead|rather|just|simply) ){0,3}+)?\b(?:keep|keeps|keeping|kept"
    r"|retain|retaining|save|saving|withhold|withholding|hold(?:ing)?(?: back| on ?to|(?= all))|hang(?:ing)? on ?to"
    r"|sit(?:ting)? on)"
    rf"(?P<what>(?: (?:{WORDS}|[\d.]{{1,6}}%?|{_KEPT_WORDS})\b){{1,8}}+) (?:tokens?|chips?|stack|them)\b"
    r"(?! (?:on (?:it|this|that|the (?:table|line))|at (?:risk|stake)|in (?:play|the pot)))",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"\b(?:all|every|each|100|hundred|whole|entire|full)\b", re.IGNORECASE)
_NOT_WHOLE = re.compile(r"\b(?:nearly|almost|most|other|remaining|rest)\b", re.IGNORECASE)
# What a label speaks of that is not the speaker's own, present bet.
_NO_BET = re.compile(
    r"\b(?:max|maximum|maximal|highest|largest|biggest|min|minimum|minimal|lowest|smallest|possible|allowed|permitted"
    r"|available|optimal|ideal|typical|usual|default|average|example|sample|previous|earlier|first|initial|original)\b\.?"
    r"(?: \w{1,20})? ?$|\b(?:if|unless)\b[^.;!?]*\b(?:had|were|was|could|knew|saw|told|given|available)\b"
    r"|\bhad i\b|\bwith (?:more|better|full|the missing)\b|\b(?:an?|any|another) (?!final|new|revised)(?:\w{1,20} )?$"
    r"|(?<!go )(?<!going )\b(?:with|if|for|at|when)(?: (?:my|the))? $",
    re.IGNORECASE,
)
_DIFFERENCE = re.compile(
    r"[\d.,]{1,8} ?(?:times|(?:tokens? |points? |chips? |% ?)?(?:below|under|short of|off|above|away from"
    r"|(?:less|fewer|lower|more|higher) than))\b",
    re.IGNORECASE,
)
_ME = re.compile(r"\b(?:i|i'd|i'll|i'm|i've|me|my|we|we'd|we'll|let's)\b", re.IGNORECASE)
_OTHERS = re.compile(
    r"\b(?:you|you'd|you'll|he|she|they|they'd|he'd|she'd|one (?:could|might|would|should)|someone|somebody|anyone|anybody"
    r"|people|nobody|everyone|others?|(?:a|an|the|any|some|most|another) (?:\w+ )?(?:gamblers?|persons?|players?|bettors?"
    r"|experts?|models?|punters?|optimists?|fools?|readers?|humans?|friends?|colleagues?|professors?|students?))\b",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:not|never|cannot|refuse to|decline to|unwilling to|without|rather than|instead of|hesitate to"
    r"|reluctant to)\b|n't\b",
    re.IGNORECASE,
)
_AMOUNT_START = re.compile(
    r"(?<![\w.,/-])(?:all[- ]in\b|all(?: of)? (?:my |the |100 )*(?:tokens|chips)|everything|nothing|no tokens|none of|"
    r"(?:between |about |around |roughly |only |just )?\d|(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|"
    r"twelve|\w{3,5}teen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|a hundred)\b)",
    re.IGNORECASE,
)
_STACK_BEFORE = re.compile(
    r"\b(?:of|my|the|these|those|have|hold|had|with|given|gave|out of|all)(?: (?:my|the|all)){0,3} $",
    re.IGNORECASE,
)
_TOKENS = re.compile(
    r"(?P<all>\ball[- ]in\b|\b(?:all|every one)(?: of)? (?:my |the |100 |of )*(?:tokens|chips)\b)"
    r"|(?P<none>\b(?:no|zero) tokens\b|\bnone of my tokens\b|\bnot a single token\b)"
    r"|(?P<n>\b(?:\d+(?:[.,]\d+)?(?: ?(?:-|to) ?\d+)?|[a-z]+(?:-[a-z]+)?)) tokens?\b",
    re.IGNORECASE,
)
_STAKED = re.compile(
    r"[^,;]{0,25}?(?:tokens?\b|chips\b|all[- ]in\b|%|/ ?100| on (?:it|this|that|the|my)\b)"
)  # what follows an amount that a loose verb stakes
_AFTER_VERB = 80
_SENTENCES = 20_000
_ECHOES = 200  # different templates that are taken out of a reply: each costs a pass through it


def read_bet(reply: str) -> float | None:
    """Return the stake 0..100, or None where none is stated or the stated one is no number of tokens. Total."""
    keyed, text = labelled(reply, _KEYS)
    own = [each for each in keyed if not _remark(each)]
    amounts = [read_amount(each.value, "tokens") for each in own or keyed]
    stated = [each for each in amounts if each.kind in ("value", "invalid")]
    if stated:
        return stated[-1].value
    text = without_rules(_without_echoes(text, [each.value for each in keyed]))
    sentences = [found[0] for found in _SENTENCE.finditer(text)][-_SENTENCES:]
    for reader in (_said, _counted):
        for sentence in reversed(sentences):
            if (found := reader(_without_kept(sentence[:2_000]))) is not None:
                return found.value
    return None


def _without_echoes(text: str, values: list[str]) -> str:
    """Return the text without the templates that its labelled ``values`` begin with."""
    for value in [*dict.fromkeys(values)][-_ECHOES:]:
        if (rest := without_template(value)) != value:
            text = text.replace(value, rest)
    return text


def _remark(each: Keyed) -> bool:
    """Return whether a label speaks of another bet than the one that is made, or its value is no amount."""
    before = re.split(r"(?<!max)(?<!min)[.;!?|] ", each.before, flags=re.IGNORECASE)[-1]
    return (
        not each.stated
        or _NO_BET.search(before) is not None
        or _DIFFERENCE.match(each.value) is not None
        or _denied(before)
        or not _speaker(before)
    )


def _without_kept(sentence: str) -> str:
    """Return a sentence in which who keeps the whole stack stakes nothing, and what else is kept has no number."""

    def staked(kept: re.Match[str]) -> str:
        whole = _WHOLE.search(kept["what"]) and not _NOT_WHOLE.search(kept["what"])
        return (", " if kept["also"] else "") + ("bet 0 tokens" if whole else "keep some")

    return _KEPT.sub(staked, sentence)


def _said(sentence: str) -> Amount | None:
    """Return the amount of the last betting verb of the speaker in a sentence."""
    for verb in reversed([*_VERB.finditer(sentence)]):
        amount = _after(sentence[verb.end() : verb.end() + _AFTER_VERB], loose=verb["loose"] is not None)
        before = sentence[max(0, verb.start() - 120) : verb.start()]
        if amount is not None and _speaker(before) and not _denied(before):
            return amount
    return None


def _speaker(before: str) -> bool:
    """Return whether the last subject named before a verb is the speaker, or none is named at all."""
    me = max((found.end() for found in _ME.finditer(before)), default=-1)
    other = max((found.end() for found in _OTHERS.finditer(before)), default=-1)
    return me >= other


def _denied(before: str) -> bool:
    clause = re.split(r"[,:()]| but ", before)[-1]
    return _NOT.search(" ".join(clause.split()[-5:])) is not None


def _after(rest: str, *, loose: bool) -> Amount | None:
    """Return the first amount after a verb; one that names the whole stack only where no other follows."""
    stack: Amount | None = None
    for start in _AMOUNT_START.finditer(rest):
        before, said = rest[: start.start()], rest[start.start() :]
        amount = read_amount(said, "tokens")
        if amount.kind == "placeholder":
            break
        if amount.kind not in ("value", "invalid") or (loose and not _STAKED.match(said)):
            continue
        all_of_it = start[0].lower().startswith("all")
        if amount.value != 100.0 or all_of_it or not _STACK_BEFORE.search(before):
            return amount
        stack = amount
    return stack


def _counted(sentence: str) -> Amount | None:
    """Return the last amount of tokens in a sentence that is the speaker's, or speaks of nobody."""
    last: Amount | None = None
    for found in _TOKENS.finditer(sentence):
        before = sentence[max(0, found.start() - 120) : found.start()]
        if not _speaker(before) or _denied(before):
            continue
        if found["n"] is None:
            last = Amount("value", 100.0 if found["all"] else 0.0)
        else:
            amount = read_amount(found["n"], "tokens")
            whole = amount.value == 100.0 and _STACK_BEFORE.search(before)
            last = last if amount.kind == "words" or whole else amount
    return last
