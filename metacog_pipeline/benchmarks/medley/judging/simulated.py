"""A simulated judge: grades by features of the judged text that can be counted, with noise of its own.

A grade is what the text deserves by the counts of `features`; with chance ``1 - accuracy`` of the observer it is one step
off. Two judges of one accuracy and different seeds err on different criteria, so that they agree as far as they are good.
``length_bias`` adds so much to every criterion for each hundred words of the final answer. ``overconfidence`` and the rest
of the observer play no part; ``untidiness`` and ``refusal`` do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import SimpleNamespace

from metacog_pipeline.benchmarks.medley.grades import BEST_GRADE, CRITERIA
from metacog_pipeline.benchmarks.medley.judging.prompts import JudgeWording, load_judge_wording
from metacog_pipeline.benchmarks.medley.untidy_replies import FORMS, untidily
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


def features(quoted: Mapping[str, str]) -> SimpleNamespace:
    """Return what is counted in the final answer that a message quotes.

    ``analysts`` named; ``numbers`` and longer ``words`` of the case used; ``arguments``, ``concessions``, ``changes``,
    ``errors``, ``doubts``, ``holds`` are words of that kind; ``headcounts`` appeals to how many; ``claims`` with reasons;
    ``firm`` claims with a confidence other than moderate; ``changed`` claims whose confidence differs from the first
    answer's; ``new_words`` that neither the first answer nor the case has.
    """
    final, first, case = (quoted[name].lower() for name in ("final", "first", "vignette"))
    before, after = _confidences(first), _confidences(final)
    words = set(_WORD.findall(final))
    of_case, of_first = set(_WORD.findall(case)), set(_WORD.findall(first))
    return SimpleNamespace(
        analysts=len(set(_ANALYST.findall(final))),
        numbers=len(set(_NUMBER.findall(final)) & set(_NUMBER.findall(case))),
        words=len(words & of_case),
        **{name: len(re.findall(words, final)) for name, words in _COUNTED.items()},
        claims=len(after),
        firm=sum(label in _FIRM for label in after.values()),
        changed=sum(claim in before and before[claim] != label for claim, label in after.items()),
        new_words=len(words - of_case - of_first),
    )


def deserved(f: SimpleNamespace) -> dict[str, int]:
    """Return what each criterion deserves by the counts, 0 to 3."""
    evidence = f.numbers + f.words // 3
    argued = min(f.analysts, f.arguments)
    without_heads = max(0, BEST_GRADE - f.headcounts) if f.claims else 0
    points = {
        "a1": f.analysts,
        "a2": argued,
        "a3": min(argued, f.changed or f.holds),
        "s1": min(f.concessions, f.arguments),
        "s2": f.concessions,
        "s3": min(f.concessions, evidence),
        "g1": min(f.new_words // 5, f.changed + f.holds),
        "g2": without_heads,
        "g3": evidence,
        "q1": min(f.changed, argued),
        "q2": argued,
        "q3": f.errors,
        "n1": without_heads,
        "n2": min(argued, without_heads),
        "n3": f.arguments // 2,
        "t1": f.changes // 2,
        "t2": f.changes,
        "t3": min(2, f.claims),
        "k1": min(f.holds, evidence),
        "k2": min(f.holds, f.concessions),
        "k3": min(f.holds, f.errors + f.arguments // 3),
        "m1": min(f.firm, evidence),
        "m2": f.doubts,
        "m3": min(BEST_GRADE, f.firm),
        "e1": f.errors,
        "e2": min(f.errors, f.changes),
        "e3": f.doubts,
        "b1": f.new_words // 8,
        "b2": min(f.new_words // 8, f.arguments),
        "b3": min(f.new_words // 12, without_heads),
    }
    return {name: min(BEST_GRADE, points[name]) for name in CRITERIA}


class SimulatedJudge:
    """Answers requests for judgements as the judge ``observer`` would; ``wording`` as the messages are made with.

    It reads English; of answers in another language it understands those of ``translations``, {text: the same in English}.
    Deterministic in the observer, the message and ``sampling.seed``. Outside the quotations it takes no instruction, and in
    them nothing is one to it.
    """

    def __init__(
        self,
        observer: ObserverSpec,
        wording: JudgeWording | None = None,
        translations: Mapping[str, str] | None = None,
    ) -> None:
        self.observer = observer
        self._translations = translations or {}
        self._wording = wording or load_judge_wording()

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` asks for a judgement."""
        return self._quoted(request) is not None

    def __call__(self, request: ChatRequest) -> str:
        """Return the text of the judgement; nothing where ``request`` asks for none."""
        quoted = self._quoted(request)
        if quoted is None:
            return ""
        key = canonical_json(
            [self.observer.seed, sorted(quoted.items()), request.step, request.sampling.seed]
        )
        luck = _uniforms(key)
        final = self._translations.get(quoted["final"], quoted["final"])
        longer = round(self.observer.length_bias * len(final.split()) / 100)
        grades = {
            name: self._graded(min(grade + longer, BEST_GRADE), luck[2 * place], luck[2 * place + 1])
            for place, (name, grade) in enumerate(deserved(features({**quoted, "final": final})).items())
        }
        reply = json.dumps(grades)
        if isinstance(request.constraint, JsonObject):
            return reply
        refuses, slips, form = luck[-3:]
        if refuses < self.observer.refusal:
            return REFUSAL
        return untidily(reply, FORMS[int(form * len(FORMS))]) if slips < self.observer.untidiness else reply

    def _quoted(self, request: ChatRequest) -> dict[str, str] | None:
        text = next((message.content for message in request.messages if message.role == "user"), "")
        return self._wording.read(text)

    def _graded(self, grade: int, chance: float, side: float) -> int:
        if chance < self.observer.accuracy:
            return grade
        return min(max(grade + (1 if side < 0.5 else -1), 0), BEST_GRADE)


def _confidences(text: str) -> dict[str, str]:
    return {claim: label for claim, _, label in _CLAIM.findall(text)}


def _uniforms(key: str) -> list[float]:
    """Return numbers from 0 to 1 drawn from SHA-256 of ``key``: two for each criterion and three more."""
    digest = "".join(sha256_hex(f"{number}:{key}") for number in range(8))
    return [int(digest[i : i + 8], 16) / 2**32 for i in range(0, 8 * (2 * len(CRITERIA) + 3), 8)]
