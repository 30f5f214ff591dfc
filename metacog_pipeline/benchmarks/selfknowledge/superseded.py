"""Which part of a reply is its answer: what it concludes with; and names of which it says that they were right once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from metacog_pipeline.benchmark.answers.text import folded

_TABLE_HEAD = re.compile(r"^ {0,3}\|[^\n]{1,300}\n {0,3}\|?[ :|-]{3,200}(?:\n|\Z)", re.MULTILINE)
_CONCLUSION = re.compile(
    r"(?:\A|\n|[.!?] )[^\w\n]{0,6}(?:(?:so|therefore|thus|hence|in conclusion|in short|in summary|to sum up"
    r"|overall|conclusion"
    r"|to conclude)\b,? ?(?:the|it|that|my|this|your)\b[^.\n]{0,80}?\b(?:is|was|are|were|would be|must be)\b:?"
    r"|(?:so,? |thus,? |therefore,? )?(?:the |my )?(?:final |correct |short |best )?answer(?: is| would be|: ?| ?[-–—=])"
    r"|tl;?dr:?|最终答案(?:是|为|：|:)|(?:所以|因此)，?答案(?:是|为)|최종 답(?:변)?(?:은|:)|respuesta(?: final)?:)",
    re.IGNORECASE,
)
_NO_LONGER = re.compile(
    r"\b(?:used to (?:be|hold|belong to)|was (?:once|long|previously|formerly|originally)|once (?:was|held)"
    r"|until recently"
    r"|previously|formerly|long (?:held|thought)|had been|traditionally|the (?:old|former|previous) (?:\w+ )?was)"
    r"(?: (?:by|the|held|considered|to be|it|was))*,? $",
    re.IGNORECASE,
)
_OVERTAKEN = re.compile(
    r"\b(?:has|have|had)? ?(?:since |now |recently |later |then )?(?:been )?(?:overtak(?:en|es|ing)|overtook"
    r"|surpass(?:ed|es|ing)"
    r"|pass(?:ed|es)|eclips(?:ed|es)|br(?:oke|oken)|beat(?:en)?|dethron(?:ed|es)|replac(?:ed|es|ing)|succeed(?:ed|s)"
    r"|displac(?:ed|es)|bumped|taken over from|took over from|edged out)(?: (?:by|the|then|record|of|previous))* $",
    re.IGNORECASE,
)
_WAS_UNTIL = re.compile(
    r"\W{0,2}(?: ?\([^)]{0,30}\))? ?(?:was|were|had|held|used to (?:be|hold|have)|once (?:was|held)"
    r"|did|had it|led|reigned)\b[^.;\n]{0,60}\b(?:until|till|before|but|however|though|now)\b",
    re.IGNORECASE,
)
_NOW = re.compile(r"\b(?:but|however|now|since|today|currently|these days|until|yet|before)\b", re.IGNORECASE)
_PAST = re.compile(
    r"\b(?:was|were|did|had|used to|won|wrote|first|former|original|previous|preceded?|before)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"\b[A-Z][\w'-]+")


def told(text: str) -> str:
    """Return the part of a reply that answers: behind the last words that announce it, where something is said there."""
    text = _TABLE_HEAD.sub("", text) if "|" in text else text
    found = list(_CONCLUSION.finditer(text))
    last = found[-1] if found else None
    if last is None or not text[: last.start()].strip():
        return text
    end = text[last.end() :]
    own = text[last.start() :].lstrip(" .!?\n")
    return own if re.search(r"[A-Z\d\u3400-\u9fff\uac00-\ud7a3\"'(]", end) or len(end.strip()) > 2 else text


def overtaken(text: str, spans: Iterable[tuple[int, int]], known: Sequence[str], question: str) -> bool:
    """Return whether a reply says of every mention of a name that it was right once, and names another as right now."""
    if _PAST.search(question) and not re.search(r"\b(?:has|is|are|holds)\b", question):
        return False
    words = set(folded(" ".join((question, *known))).split())
    mentions = list(spans)
    for start, end in mentions:
        before, behind = text[max(0, start - 60) : start], text[end : end + 120]
        others = [each for each in _NAME.findall(text[end:]) if folded(each) not in words]
        once = bool(_NO_LONGER.search(before)) and bool(_NOW.search(behind)) and bool(others)
        was = bool(_WAS_UNTIL.match(behind)) and bool(others)
        ahead = [each for each in _NAME.findall(text[:start]) if folded(each) not in words]
        if not (once or was or (_OVERTAKEN.search(before) and ahead)):
            return False
    return bool(mentions)
