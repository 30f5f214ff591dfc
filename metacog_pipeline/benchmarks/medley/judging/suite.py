"""Fixed answers by which a judge is tried before it grades: how much does a form of an answer move its grade?

Each of the fixed answers is graded as it stands and in six forms that deserve no more: padded, with heads counted, with
self-praise, with forged marks, with the analysts' letters exchanged, in another language. The bias of a form is the mean
over the answers of the grade of the form minus that of the plain answer, with Student's t.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

from metacog_pipeline.benchmark.contract import Check, Checked, Inputs, Made, Role, Step
from metacog_pipeline.benchmarks.medley.construction.asked import replies_of
from metacog_pipeline.benchmarks.medley.grades import BEST_GRADE, CRITERIA, parse_judgement
from metacog_pipeline.benchmarks.medley.items import Consensus, Instance
from metacog_pipeline.benchmarks.medley.judging import asking
from metacog_pipeline.benchmarks.medley.judging.cases import Case, condensed
from metacog_pipeline.benchmarks.medley.judging.simulated import SimulatedJudge
from metacog_pipeline.files import read_toml, sha256_hex, shipped
from metacog_pipeline.stats.estimate import Estimate, unavailable
from metacog_pipeline.stats.ties import largest

NAME = "judge_suite"
PLAIN = "plain"
RISES = ("padding", "headcount", "self_praise", "forged_marks")
"""Forms that deserve the same grade or a lower one: only a rise is a bias."""
CHANGES = ("letters", "language")
"""Forms that deserve the same grade: a change is a bias."""
FORMS = (*RISES, *CHANGES)
LEAST_BIAS = 0.05  # of 0..1: below, a bias is too small to matter, however surely it is there
FEWEST_CASES = 3
BIASED, FAIR, OPEN = "biased", "no bias seen", "not told apart from no bias"
METHOD = "mean over fixed answers of grade minus grade of the plain answer, Student's t"
SCHEMA = pl.Schema({"judge": pl.String, "case": pl.String, "form": pl.String, "grade": pl.Float64})
_PATH = shipped("data", "medley", "judge_suite.toml")
_LETTERS, _EXCHANGED = "ABCD", "CDAB"


@dataclass(frozen=True, slots=True)
class Bias:
    """How much a form moves a judge's grades (0..1), and whether that is a bias."""

    judge: str
    form: str
    found: Estimate

    @property
    def harm(self) -> float:
        """How far the grade moves in a way it should not."""
        value = self.found.value or 0.0
        return value if self.form in RISES else abs(value)


@functools.cache
def answers() -> tuple[Case, ...]:
    """Return every fixed answer in every form."""
    given: Any = read_toml(_PATH)
    return tuple(answer for case in given["cases"] for answer in _forms(given, case))


@functools.cache
def digest() -> str:
    """Return the digest of the fixed answers."""
    return sha256_hex(_PATH.read_bytes())


@functools.cache
def translations() -> dict[str, str]:
    """Return {final answer in the other language: the same in English}."""
    finals = {answer.item_id: answer.final for answer in answers()}
    return {
        text: finals[name.replace(":language", f":{PLAIN}")]
        for name, text in finals.items()
        if name.endswith(":language")
    }


def biases(grades: pl.DataFrame, judges: Sequence[str]) -> list[Bias]:
    """Return the bias of each form for each of ``judges``; ``grades`` in `SCHEMA`."""
    wide = grades.pivot("form", index=["judge", "case"], values="grade", aggregate_function="first")
    found = []
    for judge in judges:
        own = wide.filter(pl.col("judge") == judge)
        for form in FORMS:
            known = own.drop_nulls([PLAIN, form]) if {PLAIN, form} <= set(own.columns) else own.clear()
            moved = (known[form] - known[PLAIN]).to_numpy() if known.height else np.empty(0)
            found.append(Bias(judge, form, _estimate(form, moved)))
    return found


def worst(found: Sequence[Bias]) -> Bias | None:
    """Return the bias that moves grades most in a way it should not; None where none is known.

    Of equally large ones a rise comes before a fall, then the forms and the judges in their order: else the last bit of a
    mean would decide which form, and which sign, a board shows.
    """
    known = [each for each in found if each.found.value is not None]
    known.sort(key=lambda bias: (bias.found.value or 0.0) <= 0)  # stable: what is equal stays in its order
    return known[int(largest([each.harm for each in known]))] if known else None


def _estimate(form: str, moved: np.ndarray[Any, np.dtype[np.float64]]) -> Estimate:
    n = len(moved)
    if n < FEWEST_CASES:
        return unavailable(n, METHOD, f"fewer than {FEWEST_CASES} fixed answers graded in both forms")
    value, sem = float(moved.mean()), float(moved.std(ddof=1)) / n**0.5
    half = float(stdtrit(n - 1, 0.975)) * sem
    low, high = max(value - half, -1.0), min(value + half, 1.0)
    rises, falls = low > 0 and value >= LEAST_BIAS, high < 0 and value <= -LEAST_BIAS
    if rises or (falls and form in CHANGES):
        status = BIASED
    else:
        clear = high < LEAST_BIAS and (low > -LEAST_BIAS or form in RISES)
        status = FAIR if clear else OPEN
    return Estimate(value, low, high, n, METHOD, status, sem)


# --- the forms of an answer -------------------------------------------------------------------------------------------
def _forms(given: Any, case: Any) -> Iterator[Case]:
    reasons = [reason for reason, _ in case["final"]]
    marks = given["forged_marks"].format(grades=json.dumps(dict.fromkeys(CRITERIA, BEST_GRADE)))
    added = {name: given[name] for name in ("padding", "headcount", "self_praise")}
    changed = {
        PLAIN: reasons,
        **{name: [f"{reason} {text}" for reason in reasons] for name, text in added.items()},
        "forged_marks": [*reasons[:-1], f"{reasons[-1]} {marks}"],
        "letters": [_exchanged(reason) for reason in reasons],
        "language": case["language"],
    }
    first = _condensed(*zip(*case["first"], strict=True))
    labels = [label for _, label in case["final"]]
    for name, texts in changed.items():
        item = Instance(
            item_id=f"{case['id']}:{name}",
            dataset="published",
            domain=NAME,
            vignette=case["vignette"],
            is_known_answer=False,
            is_error_detection=False,
            claims=(),
            analysts=(),
            consensus=Consensus(),
        )
        yield Case(item, NAME, first, _condensed(texts, labels))


def _exchanged(text: str) -> str:
    """Return a text in which A is C and the other way round, and B is D; the exchange undoes itself."""
    table = str.maketrans(_LETTERS, _EXCHANGED)
    return "Analyst ".join(
        part if place == 0 else part[:1].translate(table) + part[1:]
        for place, part in enumerate(text.split("Analyst "))
    )


def _condensed(reasons: Sequence[str], labels: Sequence[str]) -> str:
    said = [
        {"claim_id": f"C{place}", "reasoning": reason, "confidence": label}
        for place, (reason, label) in enumerate(zip(reasons, labels, strict=True), start=1)
    ]
    return condensed({"claim_level_assessments": said})


# --- the step ---------------------------------------------------------------------------------------------------------
def _tried(benchmark: Any, inputs: Inputs) -> Made:
    """Read what the judges said of the fixed answers."""
    said = replies_of(benchmark, inputs, _ROLE, asking.STEPS)
    rows = [
        (judge, *item.split(":"), _grade(texts))
        for judge, by_item in said.items()
        for item, texts in by_item.items()
    ]
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    found = biases(frame, list(said))
    biased = [f"{b.judge}, {b.form}: {b.found.value:+.2f}" for b in found if b.found.status == BIASED]
    graded = frame.height - frame["grade"].null_count()
    checks = {
        "judges_are_fair": Checked(not biased, {"biased": "; ".join(biased)}),
        "every_answer_was_graded": Checked(graded == frame.height, {"graded": graded, "of": frame.height}),
    }
    return Made(frame=frame, facts={"judges": len(said), "biased": len(biased)}, checks=checks)


def _grade(texts: Sequence[str]) -> float | None:
    """Return the mean of the ten dimensions of the last reply that says enough; None where none does."""
    read = [parse_judgement(text) for text in texts]
    telling = next((each for each in reversed(read) if not each.tells_little), None)
    known = [] if telling is None else [grade for grade in telling.dimensions.values() if grade is not None]
    return sum(known) / len(known) if known else None


_ROLE = Role(
    NAME,
    models=lambda benchmark: benchmark.judges,
    tasks=lambda benchmark, spec, inputs: asking.judge_tasks(answers(), spec, benchmark.judge_wording),
    modes=asking.MODES,
    respondent=lambda benchmark, spec: SimulatedJudge(spec.observer, benchmark.judge_wording, translations()),
)
STEP = Step(
    NAME,
    "How fixed answers are graded by each judge, plain and in six forms that deserve no more: its bias, before it grades.",
    _tried,
    checks={
        "judges_are_fair": Check("No form of an answer moves a judge's grades where it should not."),
        "every_answer_was_graded": Check("Every judge graded every fixed answer."),
    },
    asks=_ROLE,
    inputs=lambda benchmark: [digest(), benchmark.judge_wording.digest],
)
