"""The places of a text: its sentences, its brackets, and where it corrects itself. Linear in the length "
"of the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

_BREAK = re.compile(r"[.!?](?=\s|$|[\"')\]])|[;\n。！？；]|(?<=[a-z)])\.(?=[A-Z])")
_SHORT = re.compile(
    r"(?:\b(?:vol|pp?|no|nos|approx|ca|i\.e|e\.g|vs|figs?|eqs?|ed|u\.s|st|dr|mr|mrs|art|ch|etc|jan|feb|mar"
    r"|apr|jun|jul|aug"
    r"|sept?|oct|nov|dec|a\.m|p\.m|cf|resp|sq|cu|hrs?|min|sec|deg|lbs?)|\.|\b[A-Za-z])$",
    re.IGNORECASE,
)
CORRECTION = re.compile(
    r"\bwait\b|\bscratch that\b|\bcorrection\b|\bno,? (?:wait|that(?:'s| is)|sorry|rather|actually)\b|\bno[:] "
    r"|[.,;?-] no, |\bactually,? (?:no|it(?:'s| is)|that)\b|\blet me (?:re-?check|recompute|recalculate|re-?count"
    r"|redo|correct)\b|\bsorry[,:]|\bi mean\b|\boops\b|\bmake (?:that|it)\b|\bi meant\b|不对|等等|等一下|아니,"
    r"|아니요,|\bmejor dicho\b|\bno, espera\b|\? no\b|\bcorrecting\b|\brecalculat\w+\b|\bon reflection\b"
    r"|\bre-?check(?:ing|ed)?\b|\b(?:it|that|this) should (?:actually )?(?:be|read|have been)\b|更正|纠正|应该是|应为"
    r"|重新算|再算一[遍次]|算错了|다시 계산하면|다시 세어|정정|수정하면|틀렸|corrigiendo|corrección|rectifico"
    r"|\ben realidad (?:es|son)\b|\bperdón\b|\bcorrijo\b|\bon second thoughts?\b|\bafter re-?checking\b"
    r"|\bi misspoke\b|\bcorrected\b",
    re.IGNORECASE,
)
SUBORDINATE = re.compile(
    r"\b(?:after|before|although|though|while|whereas|versus|vs|compared (?:to|with)|unlike|than|following|since"
    r"|because|followed by|preceded by|next to|ahead of|behind|as opposed to|despite|besides|apart from|aunque"
    r"|mientras|porque|después del?|antes (?:del?|que)|frente a|for reference|by comparison|in comparison|up from"
    r"|down from|e\.g|for example|such as|a diferencia de|al contrario que|en comparación con|^ ?(?:que|which|who"
    r"|whose)|sometimes|some sources?|other sources?|some say|many (?:people|would|say|think)|people often"
    r"|often (?:said|assumed|mistaken)|commonly|(?:un)?like|if|^ ?as|(?<=, )as|where|given that|namely|of which"
    r"|consisting of|made up of|mass number)\b|虽然|因为|比|据说|다음으로|보다",
    re.IGNORECASE,
)
_ENDED = re.compile(  # "after Baikal comes ...": what follows the verb is the main clause
    r"^\W*(?:after|before|behind|next to|following|below|than)\b[^,]*\b(?:comes|is"
    r"|ranks|stands|lies|follows)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=64)  # a text without marks is one clause, and may have a mention in every other word
def subordinate(clause: str) -> bool:
    """Return whether what follows the beginning of a clause stands in a subordinate one."""
    return SUBORDINATE.search(clause) is not None and not _ENDED.search(clause)


class Places:
    """Where the sentences and brackets of one text lie."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        for found in _BREAK.finditer(text):
            if found[0] == "." and _SHORT.search(text[max(0, found.start() - 8) : found.start()]):
                continue
            self._starts.append(found.end())
        self._bracket_at: list[int] = []
        self._bracket_depth: list[int] = []
        depth = 0
        for found in re.finditer(r"[()\[\]（）【】\n]", text):
            mark = found[0]
            depth = 0 if mark == "\n" else depth + 1 if mark in "([（【" else max(0, depth - 1)
            self._bracket_at.append(found.start())
            self._bracket_depth.append(depth)

    def sentence(self, place: int) -> int:
        """Return which sentence a place lies in, from 0; sentences that are blank count none."""
        return bisect_right(self._starts, place) - 1

    def sentence_start(self, place: int) -> int:
        """Return where the sentence of a place begins."""
        return self._starts[self.sentence(place)]

    def sentence_end(self, place: int) -> int:
        """Return where the sentence of a place ends."""
        after = self.sentence(place) + 1
        return self._starts[after] if after < len(self._starts) else len(self.text)

    def first_sentence(self) -> int:
        """Return the number of the first sentence that says anything."""
        found = re.search(r"\w", self.text)
        return self.sentence(found.start()) if found else 0

    def first_end(self) -> int:
        """Return where the first sentence that says anything ends."""
        found = re.search(r"\w", self.text)
        return self.sentence_end(found.start() if found else 0)

    def in_bracket(self, place: int) -> bool:
        """Return whether a place lies between brackets; a line end closes them all."""
        at = bisect_right(self._bracket_at, place) - 1
        return at >= 0 and self._bracket_depth[at] > 0

    def clause(self, place: int) -> str:
        """Return what stands before a place in its clause: since the last comma, colon, dash or bracket."""
        before = self.text[max(self.sentence_start(place), place - 200) : place]
        return re.split(r"(?<!\d)[,:]|[,:](?!\d)|[(\[（，：]| - ", before)[-1]

    def corrected_from(self) -> int:
        """Return the end of the last place outside brackets where the text corrects itself; -1 where it does not."""
        ends = [found.end() for found in CORRECTION.finditer(self.text) if not self.in_bracket(found.start())]
        return ends[-1] if ends else -1
