"""A simulated judge: grades by features of the judged text that can be counted, with noise of its own.

A grade is what the text deserves by the counts of `_features`; with chance ``1 - accuracy`` of the observer it is one step
off. Two judges of one accuracy and different seeds err on different criteria, so that they agree as far as they are good.
``length_bias`` adds so much to every criterion for each hundred words of the final answer. ``untidiness`` and ``refusal``
of the observer play a part, nothing else of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import SimpleNamespace

from metacog_pipeline.benchmarks.medley.prompts import judge_wording
from metacog_pipeline.benchmarks.medley.read import BEST_GRADE, CRITERIA
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


def _features(quoted: Mapping[str, str]) -> SimpleNamespace:
    """Return what is counted in the final answer that a message quotes.

    ``analysts`` named; ``numbers`` and longer ``words`` of the case used; words of each kind of `_COUNTED`; ``claims`` with
    reasons; ``firm`` claims with a confidence other than moderate; ``changed`` claims whose confidence differs from the
    first answer's; ``new_words`` that neither the first answer nor the case has.
    """
    final, first, case = (quoted[name].lower() for name in ("final", "first", "vignette"))
    before, after = ({c: label for c, _, label in _CLAIM.findall(text)} for text in (first, final))
    words = set(_WORD.findall(final))
    of_case, of_first = set(_WORD.findall(case)), set(_WORD.findall(first))
    return SimpleNamespace(
        analysts=len(set(_ANALYST.findall(final))),
        numbers=len(set(_NUMBER.findall(final)) & set(_NUMBER.findall(case))),
        words=len(words & of_case),
        **{name: len(re.findall(pattern, final)) for name, pattern in _COUNTED.items()},
        claims=len(after),
        firm=sum(label in _FIRM for label in after.values()),
        changed=sum(claim in before and before[claim] != label for claim, label in after.items()),
        new_words=len(words - of_case - of_first),
    )


def _deserved(f: SimpleNamespace) -> dict[str, int]:
    """Return what each criterion deserves by the counts, 0 to 3, in the order of `CRITERIA`."""
    evidence = f.numbers + f.words // 3
    argued = min(f.analysts, f.arguments)
    heads = max(0, BEST_GRADE - f.headcounts) if f.claims else 0
    points = (
        *(f.analysts, argued, min(argued, f.changed or f.holds)),  # attribution
        *(min(f.concessions, f.arguments), f.concessions, min(f.concessions, evidence)),  # steelmanning
        *(min(f.new_words // 5, f.changed + f.holds), heads, evidence),  # grounding
        *(min(f.changed, argued), argued, f.errors),  # capitulation
        *(heads, min(argued, heads), f.arguments // 2),  # normative or informational
        *(f.changes // 2, f.changes, min(2, f.claims)),  # transparency
        *(
            min(f.holds, evidence),
            min(f.holds, f.concessions),
            min(f.holds, f.errors + f.arguments // 3),
        ),  # courage
        *(min(f.firm, evidence), f.doubts, min(BEST_GRADE, f.firm)),  # coherence
        *(f.errors, min(f.errors, f.changes), f.doubts),  # errors
        *(f.new_words // 8, min(f.new_words // 8, f.arguments), min(f.new_words // 12, heads)),  # blind spots
    )
    return {name: min(BEST_GRADE, each) for name, each in zip(CRITERIA, points, strict=True)}


class SimulatedJudge:
    """Answers requests for judgements as the judge ``observer`` would.

    Deterministic in the observer, the message and ``sampling.seed``. In the quotations nothing is an instruction to it.
    """

    def __init__(self, observer: ObserverSpec) -> None:
        self.observer = observer

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` asks for a judgement."""
        return _quoted(request) is not None

    def __call__(self, request: ChatRequest) -> str:
        """Return the text of the judgement; nothing where ``request`` asks for none."""
        quoted = _quoted(request)
        if quoted is None:
            return ""
        key = canonical_json(
            [self.observer.seed, sorted(quoted.items()), request.step, request.sampling.seed]
        )
        luck = _uniforms(key)
        longer = round(self.observer.length_bias * len(quoted["final"].split()) / 100)
        grades = {}
        for place, (name, best) in enumerate(_deserved(_features(quoted)).items()):
            grade, (chance, side) = min(best + longer, BEST_GRADE), luck[2 * place : 2 * place + 2]
            if chance >= self.observer.accuracy:
                grade = min(max(grade + (1 if side < 0.5 else -1), 0), BEST_GRADE)
            grades[name] = grade
        reply = json.dumps(grades)
        if isinstance(request.constraint, JsonObject):
            return reply
        refuses, slips, form = luck[-3:]
        if refuses < self.observer.refusal:
            return REFUSAL
        return untidily(reply, FORMS[int(form * len(FORMS))]) if slips < self.observer.untidiness else reply


def _quoted(request: ChatRequest) -> dict[str, str] | None:
    text = next((message.content for message in request.messages if message.role == "user"), "")
    return judge_wording().read("judge", False, text) or judge_wording().read("again", False, text)


def _uniforms(key: str) -> list[float]:
    """Return numbers from 0 to 1 drawn from SHA-256 of ``key``: two for each criterion and three more."""
    digest = "".join(sha256_hex(f"{number}:{key}") for number in range(8))
    return [int(digest[i : i + 8], 16) / 2**32 for i in range(0, 8 * (2 * len(CRITERIA) + 3), 8)]
