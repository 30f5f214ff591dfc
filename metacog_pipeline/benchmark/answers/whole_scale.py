"""The whole scale of 0 to 100 where a reply repeats it: "a whole number from 0 to 100" is the rule of the task, no amount.

A range inside the scale ("between 40 and 60") is an amount and stays.
"""

from __future__ import annotations

import re

_UNIT = r"(?: ?%| ?percent\b| per cent\b| tokens?\b| chips?\b| points?\b)?"
_MEANT = r"(?: ?\([^()\n]{1,60}\))?"  # "from 0 (certainly wrong) to 100 (certainly right)"
_LOW = rf"(?:[01](?:\.0)?|zero|one|none|nothing|no tokens){_UNIT}{_MEANT}"
_ALL = r"all(?: of)?(?: (?:my|the|your))?(?: (?=100))?"
_HIGH = (
    rf"(?:(?:{_ALL}|the full |a full )?100(?:\.0)?(?![\w/]|[.,]\d)|(?:(?:a|one) )?hundred\b|everything\b"
    rf"|{_ALL}(?= tokens\b)){_UNIT}{_MEANT}"
)
_MOST = r"(?:at most|no more than|not more than|nor more than|up to|(?:an? )?max(?:imum)?(?: of| is|:| =)?)"
_LEAST = r"(?:at least|no less than|not less than|no fewer than|(?:an? )?min(?:imum)?(?: of| is|:| =)?)"
_TO = r"(?: ?(?:[-‐-―−~〜～]|→|->|\.\.+|…) ?| (?:up )?to | through )"
_NAME = r"(?:b|n|x|bet|stake|confidence)"
_RANGE = (
    rf"(?:between|anywhere between|range of) {_LOW}(?: and |{_TO}){_HIGH}"
    rf"|(?:(?:from|of|anywhere from|in the range) )?{_LOW}{_TO}{_HIGH}"
    rf"|[\[(] ?{_LOW} ?, ?{_HIGH} ?[\])]"
    rf"|{_LEAST} {_LOW},?(?: and| but)? {_MOST} {_HIGH}"
    rf"|{_LOW} ?(?:<|≤|<=|=<) ?{_NAME} ?(?:<|≤|<=|=<) ?{_HIGH}"
    rf"|{_LOW} (?:=|means|meaning|being|for|stands for|indicates) [^.;\n\d]{{1,60}} {_HIGH} (?:=|means|meaning|being|for"
    r"|stands for|indicates)\b"
)
_SCALE = re.compile(rf"(?<![\w.,/%+-])(?<![\d%] - )(?<![\d%] )(?:{_RANGE})(?!\w)", re.IGNORECASE)
# "I may stake up to 100 tokens": what is allowed, not what is staked.
_LIMIT = re.compile(
    rf"(?P<allowed>\b(?:can|may|could|must|should|allowed|able|permitted|free|asked|told|required|supposed|needs?|has|have)\b"
    rf"[^.;!?\n\d]{{0,60}} ){_MOST} {_HIGH}",
    re.IGNORECASE,
)
_SCALE_SIGN = re.compile(r"100|hundred|everything|\ball\b", re.IGNORECASE)


def without_scale(text: str) -> str:
    """Return a text without the whole scales it names.

    >>> without_scale("a whole number from 0 to 100: 64"), without_scale("between 40 and 60")
    ('a whole number : 64', 'between 40 and 60')
    """
    return _SCALE.sub("", text) if _SCALE_SIGN.search(text) else text


def without_rules(text: str) -> str:
    """Return a text also without the largest amount that is allowed.

    >>> without_rules("I may stake up to 100 tokens, and I stake 20")
    'I may stake , and I stake 20'
    """
    return _LIMIT.sub(r"\g<allowed>", without_scale(text))
