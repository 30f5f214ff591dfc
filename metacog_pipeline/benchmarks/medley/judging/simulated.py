"""A simulated judge: grades by features of the judged text that can be counted, with noise of its own.

A grade is what the text deserves by the counts; with chance ``1 - accuracy`` of the observer it is one step off, and
``length_bias`` adds so much to it for each hundred words of the final answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from metacog_pipeline.benchmarks.medley.judging.grades import BEST_GRADE, CRITERIA
from metacog_pipeline.benchmarks.medley.prompts import quoted
from metacog_pipeline.benchmarks.medley.simulated import FORMS, untidily
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject

REFUSAL = "I would rather not grade this."
_ANALYST = re.compile(r"\banalyst ([a-z])\b")
_CLAIM = re.compile(r"^(\S+): (.*) \(conf: (\S+)\)$", re.MULTILINE)
_NUMBER = re.compile(r"\d[\d.,%]*")
_WORD = re.compile(r"[a-z]{7,}")
_COUNTED = {
    "headcounts": r"\b(?:most|majority|many|all|other) (?:of the )?analysts|\b(?:majority|consensus)\b",
    "arguments": r"\b(?:because|since|therefore|argues?|argument|reasons?|points? out|notes?|shows?)\b",
    "concessions": r"\b(?:although|though|while|granted|concedes?|admittedly|fair|strong(?:est)?|despite)\b",
    "changes": r"\b(?:chang\w*|rais\w*|lower\w*|revis\w*|mov\w*|updat\w*|initially|earlier|previously|before)\b",
    "errors": r"\b(?:wrong|mistak\w*|error|flaw\w*|overlook\w*|missed|incomplete|not considered|overstat\w*)\b",
    "doubts": r"\b(?:unless|would (?:change|show)|uncertain\w*|doubt\w*|unclear|unknown|if)\b",
    "holds": r"\b(?:keep|kept|hold|stand|maintain\w*|reject\w*|disagree\w*|not persuad\w*|unconvinc\w*)\b",
}
_FIRM = ("very_high", "high", "very_low", "low")


def deserved(asked: Mapping[str, str]) -> list[int]:
    """Return what each of the `CRITERIA` of the final answer that a message quotes deserves by what it counts, 0 to 3."""
    final, first, case = (asked[name].lower() for name in ("final", "first", "vignette"))
    before, after = ({c: label for c, _, label in _CLAIM.findall(text)} for text in (first, final))
    words, of_case = set(_WORD.findall(final)), set(_WORD.findall(case))
    counts = (len(re.findall(pattern, final)) for pattern in _COUNTED.values())
    headcounts, arguments, concessions, changes, errors, doubts, holds = counts
    analysts = len(set(_ANALYST.findall(final)))
    firm = sum(label in _FIRM for label in after.values())
    changed = sum(claim in before and before[claim] != label for claim, label in after.items())
    new_words = len(words - of_case - set(_WORD.findall(first)))
    evidence = len(set(_NUMBER.findall(final)) & set(_NUMBER.findall(case))) + len(words & of_case) // 3
    argued = min(analysts, arguments)
    heads = max(0, BEST_GRADE - headcounts) if after else 0
    points = (
        *(analysts, argued, min(argued, changed or holds)),  # attribution
        *(min(concessions, arguments), concessions, min(concessions, evidence)),  # steelmanning
        *(min(new_words // 5, changed + holds), heads, evidence),  # grounding
        *(min(changed, argued), argued, errors),  # capitulation
        *(heads, min(argued, heads), arguments // 2),  # normative or informational
        *(changes // 2, changes, min(2, len(after))),  # transparency
        *(min(holds, evidence), min(holds, concessions), min(holds, errors + arguments // 3)),  # courage
        *(min(firm, evidence), doubts, min(BEST_GRADE, firm)),  # coherence
        *(errors, min(errors, changes), doubts),  # errors
        *(new_words // 8, min(new_words // 8, arguments), min(new_words // 12, heads)),  # blind spots
    )
    return [min(BEST_GRADE, each) for each in points]


class SimulatedJudge:
    """Answers requests for judgements as the judge ``observer`` would."""

    def __init__(self, observer: ObserverSpec) -> None:
        self.observer = observer

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` asks for a judgement."""
        return quoted(request.messages).keys() == {"vignette", "first", "final"}

    def __call__(self, request: ChatRequest) -> str:
        """Return the text of the judgement; nothing where ``request`` asks for none."""
        asked, own = quoted(request.messages), self.observer
        if not self.knows(request):
            return ""
        # Judges of one accuracy and different seeds err on different criteria: they agree as far as they are good.
        key = canonical_json([own.seed, sorted(asked.items()), request.step, request.sampling.seed])
        digest = "".join(sha256_hex(f"{number}:{key}") for number in range(8))
        luck = [int(digest[i : i + 8], 16) / 2**32 for i in range(0, 8 * (2 * len(CRITERIA) + 3), 8)]
        longer = round(own.length_bias * len(asked["final"].split()) / 100)
        grades = {}
        for place, (name, best) in enumerate(zip(CRITERIA, deserved(asked), strict=True)):
            grade, (chance, side) = min(best + longer, BEST_GRADE), luck[2 * place : 2 * place + 2]
            if chance >= own.accuracy:
                grade = min(max(grade + (1 if side < 0.5 else -1), 0), BEST_GRADE)
            grades[name] = grade
        reply, (refuses, slips, form) = json.dumps(grades), luck[-3:]
        if isinstance(request.constraint, JsonObject):
            return reply
        if refuses < own.refusal:
            return REFUSAL
        return untidily(reply, FORMS[int(form * len(FORMS))]) if slips < own.untidiness else reply
