"""Blind judges of how an answer was revised: one text for all conditions, a quoted answer, no judge of its own family.

A judge grades thirty criteria. One call, and up to two more where it says next to nothing; the three are steps of their
own, so that each is paid for once and found again. A grade outside 0, 1, 2, 3 is none.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any

import polars as pl

from metacog_pipeline.asking.states import source_of
from metacog_pipeline.asking.tasks import asked
from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.benchmark.contract import Judging, Small, schema_of
from metacog_pipeline.benchmarks.medley.items import B_SOCIAL, BENCHMARK, STEP_A, Instance, claim_items
from metacog_pipeline.benchmarks.medley.prompts import PLACE, Wording, json_object, quoted
from metacog_pipeline.benchmarks.medley.read import FENCE, NO_JSON, strict_json
from metacog_pipeline.files import canonical_json, read_toml, sha256_hex, shipped
from metacog_pipeline.judges.verdicts import modes
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject, Message, Status
from metacog_pipeline.reading.calls import ended
from metacog_pipeline.reading.envelope import turn_of
from metacog_pipeline.scoring.responses import Kept, call_of, in_order, total

STEPS = ("judge", "judge_2", "judge_3")
FEWEST_TELLING = 5  # grades that differ from 1; with fewer, the judge is asked again
MINIMAL_GRADE, BEST_GRADE = 1, 3
JUDGE_TOKENS = 2_000  # the least a reply may take: thirty grades are about 300
VIGNETTE_CHARACTERS, ANSWER_CHARACTERS = 500, 5_000
LABEL_CHARACTERS = 80  # of a confidence, a claim id or an analyst's name; longer ones are none
_KEY = ("model", "run", "condition", "item_id")
JUDGE_DIMENSIONS = (
    *("attribution_depth", "steelmanning_quality", "logical_grounding", "capitulation_quality"),
    *("normative_vs_informational", "transparency", "intellectual_courage", "confidence_coherence"),
    *("error_acknowledgment", "blind_spot_recognition"),
)
# Letter of a criterion -> dimension; three criteria each, a1 … b3.
DIMENSION_OF = dict(zip("asgqntkmeb", JUDGE_DIMENSIONS, strict=True))
CRITERIA = tuple(f"{letter}{number}" for letter in DIMENSION_OF for number in (1, 2, 3))


@functools.cache  # the shipped file does not change under a running process
def judge_words() -> tuple[Wording, str]:
    """Return what a judge is sent, a wording of the steps ``judge`` and ``again``, and the SHA-256 over all texts."""
    data = read_toml(shipped("data", "medley", "judge.toml"))
    criteria = {f"{d['key']}{n}": text for d in data["dimensions"] for n, text in enumerate(d["criteria"], 1)}
    digest = sha256_hex(canonical_json([data["system"], data["text"], data["again"], criteria]))
    rubric, form = [], []
    for letter, dimension in DIMENSION_OF.items():
        keys = [f"{letter}{n}" for n in (1, 2, 3)]
        rubric.append("\n".join([dimension.replace("_", " "), *(f"{key}  {criteria[key]}" for key in keys)]))
        form.append(", ".join(f'"{key}": <0-3>' for key in keys))
    fixed = {"rubric": "\n\n".join(rubric), "form": "{" + ",\n ".join(form) + "}"}
    text = PLACE.sub(lambda place: fixed.get(place[1], place[0]), data["text"])
    return Wording({"judge": text, "again": f"{text}\n\n{data['again']}"}, data["system"]), digest


@dataclass(frozen=True, slots=True)
class Grades:
    """A judge's thirty criteria, 0..3 or None, and ten dimensions, 0..1: the mean of the scored criteria over 3."""

    criteria: dict[str, int | None]
    dimensions: dict[str, float | None]

    @property
    def non_default(self) -> int:
        """How many grades differ from 1."""
        return sum(grade not in (None, MINIMAL_GRADE) for grade in self.criteria.values())

    @property
    def tells_little(self) -> bool:
        """Whether nearly all grades are 1 or missing, so that the judge should be asked again."""
        return self.non_default < FEWEST_TELLING


def parse_judgement(raw: str, *, reference: bool = False) -> Grades:
    """Return the grades in a judge's reply: only the whole numbers 0 to 3 are grades. Never raises."""
    # With ``reference`` as the authors' package: a number from 0 to 3 is rounded half to even, anything else is 1.
    text = raw.strip() if reference else turn_of(raw)
    if text.startswith(FENCE):
        text = "\n".join(line for line in text.split("\n") if not line.startswith(FENCE))
    value = strict_json(text)
    if value is NO_JSON:
        start = text.find("{")
        value = strict_json(text[start : text.rfind("}") + 1]) if start >= 0 else None
    given = value if isinstance(value, dict) else {}
    criteria = {name: _grade(given.get(name), reference) for name in CRITERIA}
    dimensions = {}
    for letter, dimension in DIMENSION_OF.items():
        grades = [grade for number in "123" if (grade := criteria[letter + number]) is not None]
        dimensions[dimension] = sum(grades) / len(grades) / BEST_GRADE if grades else None
    return Grades(criteria, dimensions)


def _grade(value: object, reference: bool) -> int | None:
    if not isinstance(value, int | float):
        return MINIMAL_GRADE if reference else None
    if reference:
        return round(value) if 0 <= value <= BEST_GRADE else MINIMAL_GRADE
    return int(value) if not isinstance(value, bool) and value in range(BEST_GRADE + 1) else None


@dataclass(frozen=True, slots=True)
class Case:
    """One answer of the judged model, as a judge reads it."""

    item: Instance
    condition: str  # of the row; it reaches no message
    first: str  # step A and B-social, condensed
    final: str
    unjudged: str | None = None  # why there is nothing to judge
    source: str = "measured"

    def messages(self, *, again: bool = False) -> tuple[Message, ...]:
        """Return the messages that ask for a judgement; ``again`` after a reply with few grades."""
        vignette = self.item.vignette[:VIGNETTE_CHARACTERS]
        quoted = {"vignette": vignette, "first": self.first, "final": self.final}
        return judge_words()[0].messages("again" if again else "judge", self.item, quoted)

    @property
    def digest(self) -> str:
        """SHA-256 of everything a judge is sent."""
        return sha256_hex(canonical_json([judge_words()[1], self.messages()[-1].content]))


def cases(instances: Sequence[Instance], responses: pl.DataFrame) -> list[Case]:
    """Return one case per response of one model and run, in their order; rows of other instances are left out."""
    by_id, steps, found = {instance.item_id: instance for instance in instances}, (STEP_A, B_SOCIAL), []
    for row in responses.filter(pl.col("item_id").is_in(list(by_id))).iter_rows(named=True):
        why = next((f"{s} is {row[f'status_{s}']}" for s in steps if row[f"status_{s}"] != "ok"), None)
        first, final = ("" if why else condensed(json.loads(row[f"reply_{s}"] or "null")) for s in steps)
        found.append(Case(by_id[row["item_id"]], row["condition"], first, final, why, row["source"]))
    return found


def condensed(reply: object) -> str:
    """Return a parsed reply as a judge reads it: ``Overall: …``, then a line per claim with reasoning and confidence."""
    given = reply if isinstance(reply, dict) else {}
    if given.get("_parse_error"):
        return str(given.get("_raw") or "").strip()[:ANSWER_CHARACTERS]
    texts = (_flat(given.get(key)) for key in ("assessment", "overall_assessment"))
    lines = [f"Overall: {text}" for text in texts if text][:1]
    for item in claim_items(reply):
        if isinstance(item, dict) and (reasoning := _flat(item.get("reasoning"))):
            claim, label = (_short(item.get(key)) for key in ("claim_id", "confidence"))
            lines.append(f"{claim}: {reasoning} (conf: {label})")
    return "\n".join(lines)[:ANSWER_CHARACTERS]


def _flat(value: object) -> str:
    # Line breaks become blanks, so that no text can pass for the next line.
    return " ".join(value.strip()[: 2 * ANSWER_CHARACTERS].split()) if isinstance(value, str) else ""


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value) if isinstance(value, int | float) else ""
    return " ".join(text.split()) or "?" if len(text) <= LABEL_CHARACTERS else "?"


def eligible(judges: Sequence[ModelSpec], model: ModelSpec) -> tuple[ModelSpec, ...]:
    """Return the judges that may judge ``model``: those of another family."""
    # `Settings` sees to it that each has a family.
    return tuple(judge for judge in judges if judge.family != model.family)


def judge_tasks(given: Sequence[Case], judge: ModelSpec) -> list[Task]:
    """Return one task per case in which there is something to judge."""
    grade = {"type": "integer", "enum": list(range(BEST_GRADE + 1))}
    form = JsonObject("grades", json.dumps(json_object(dict.fromkeys(CRITERIA, grade))))

    async def run(case: Case, ask: Ask, mode: str) -> None:
        held, tokens = None if mode == "text" else form, max(judge.max_tokens, JUDGE_TOKENS)
        for step in STEPS:
            words = case.messages(again=step != STEPS[0])
            answer = await ask(step, words, constraint=held, max_tokens=tokens, top_logprobs=0)
            if answer.status is not Status.OK or not parse_judgement(answer.text).tells_little:
                return

    asked = (case for case in given if case.unjudged is None)
    return [Task(one.item.item_id, one.digest, one.condition, functools.partial(run, one)) for one in asked]


#: One judge's grades of one answer: who, the thirty criteria of 0 to 3, the ten dimensions of 0 to 1, and how it went.
Judgement = make_dataclass(
    "Judgement",
    [
        *((name, str) for name in ("benchmark", "dataset", "domain", "condition", "model")),
        *(("run", Small), ("judge", str), ("judge_family", str), ("judge_place", Small)),
        *(("item_id", str), ("position", Small)),
        *((name, Annotated[int | None, pl.Int8]) for name in CRITERIA),
        *((name, float | None) for name in JUDGE_DIMENSIONS),
        *(("status", str), ("reason", str | None), ("n_unscored", Small), ("reading", str)),
        *(("latency_s", float | None), ("cost_usd", float | None)),
        *(("input_tokens", int | None), ("output_tokens", int | None)),
        *((name, str | None) for name in ("mode", "step", "answer_id", "source")),
    ],
)
JUDGEMENT_SCHEMA = schema_of(Judgement)


def read_judgements(
    transcripts: pl.DataFrame, given: Sequence[Case], judges: Sequence[ModelSpec], *, model: ModelSpec, run: int
) -> pl.DataFrame:  # fmt: skip
    """Return one row per case × judge that may judge ``model``, in `JUDGEMENT_SCHEMA`; cases with nothing to judge too."""
    rows, calls = [], dict[tuple[str, ...], dict[str, Kept]]()
    summed = ("latency_s", "cost_usd", "input_tokens", "output_tokens")
    for call in in_order(transcripts.filter(~pl.col("superseded")), ("item_hash", "model", "source")):
        key = (call["model"], call["item_id"], call["condition"], call["item_hash"])
        calls.setdefault(key, {})[call["step"]] = call
    digests = ["" if case.unjudged else case.digest for case in given]
    for place, judge in enumerate(judges):
        for case, digest in zip(given, digests, strict=True) if eligible([judge], model) else ():
            # Judgements of another text than the case's are passed over; of the up to three calls the last counts.
            kept = calls.get((judge.name, case.item.item_id, case.condition, digest), {})
            last = next((kept[step] for step in reversed(STEPS) if step in kept), None)
            sources = {case.source, source_of(judge), *(call["source"] for call in kept.values())}
            row = {name: getattr(case.item, name) for name in ("dataset", "domain", "item_id", "position")}
            row |= {"benchmark": BENCHMARK, "condition": case.condition, "model": model.name, "run": run}
            row |= {"judge": judge.name, "judge_family": judge.family, "judge_place": place}
            row |= _graded(case, last) | {name: total(list(kept.values()), name) for name in summed}
            row |= {name: last[name] if last else None for name in ("mode", "step", "answer_id")}
            row["source"] = "simulated" if "simulated" in sources else case.source
            rows.append(row | {"reading": "strict"})
    return pl.DataFrame(rows, schema=JUDGEMENT_SCHEMA)


def _graded(case: Case, call: Kept | None) -> dict[str, Any]:
    """Return what the last call says: its grades, those of the dimensions where it says enough, and how it went."""
    none: dict[str, Any] = dict.fromkeys((*CRITERIA, *JUDGE_DIMENSIONS, "n_unscored"))
    over = ("not_run", "not asked yet") if call is None else ended(call_of(call), "the judge's max_tokens")
    over = over if case.unjudged is None else ("no_answer", case.unjudged)
    if call is None or over is not None:
        return none | dict(zip(("status", "reason"), over or (), strict=True))
    found = parse_judgement(call["text"])
    unscored = [name for name, grade in found.criteria.items() if grade is None]
    graded, told = len(CRITERIA) - len(unscored), found.criteria | {"n_unscored": len(unscored)}
    if graded == 0:
        return none | told | {"status": "unreadable", "reason": "the reply holds no grade from 0 to 3"}
    if found.tells_little:
        little = f"{found.non_default} of {graded} grades differ from 1"
        return none | told | {"status": "says_little", "reason": little}
    reason = f"no grade from 0 to 3 for {', '.join(unscored)}" if unscored else None
    return told | found.dimensions | {"status": "partial" if reason else "ok", "reason": reason}


def combined(judgements: pl.DataFrame) -> dict[tuple[Any, ...], dict[str, float | None]]:
    """Return {(model, run, condition, instance): {dimension: median grade over judges, of 0..1, or None}}."""
    found = judgements.group_by(_KEY, maintain_order=True).agg(pl.median(*JUDGE_DIMENSIONS))
    return {tuple(row[name] for name in _KEY): row for row in found.iter_rows(named=True)}


def graded_by(scored: pl.DataFrame, judgements: pl.DataFrame | None, judges: Sequence[str]) -> pl.DataFrame:
    """Return scored responses with ``judge_grades``: the mean grade by each of ``judges``, null where one gave none."""
    if judgements is None or judgements.is_empty():
        return scored.with_columns(judge_grades=pl.lit(None, pl.List(pl.Float64)))
    # Not `mean_horizontal`, which adds in the order in which threads happen to come: the last digit would be chance.
    means = judgements.with_columns(grade=pl.concat_list(JUDGE_DIMENSIONS).list.mean())
    each = [pl.col("grade").filter(pl.col("judge") == name).first().alias(f"_{name}") for name in judges]
    grades = pl.concat_list(f"_{name}" for name in judges)
    wide = means.group_by(_KEY).agg(each).select(*_KEY, judge_grades=grades)
    return scored.join(wide, on=_KEY, how="left", maintain_order="left")


_FIRM = ("very_high", "high", "very_low", "low")
_WORD = re.compile(r"[a-z]{7,}")
_ANALYST = re.compile(r"\banalyst ([a-z])\b")
_CLAIM = re.compile(r"^(\S+): (.*) \(conf: (\S+)\)$", re.MULTILINE)
_FIGURE = re.compile(r"\d[\d.,%]*")
_COUNTED = {
    "headcounts": r"\b(?:most|majority|many|all|other) (?:of the )?analysts|\b(?:majority|consensus)\b",
    "arguments": r"\b(?:because|since|therefore|argues?|argument|reasons?|points? out|notes?|shows?)\b",
    "concessions": r"\b(?:although|though|while|granted|concedes?|admittedly|fair|strong(?:est)?|despite)\b",
    "changes": r"\b(?:chang\w*|rais\w*|lower\w*|revis\w*|mov\w*|updat\w*|initially|earlier|previously|before)\b",
    "errors": r"\b(?:wrong|mistak\w*|error|flaw\w*|overlook\w*|missed|incomplete|not considered|overstat\w*)\b",
    "doubts": r"\b(?:unless|would (?:change|show)|uncertain\w*|doubt\w*|unclear|unknown|if)\b",
    "holds": r"\b(?:keep|kept|hold|stand|maintain\w*|reject\w*|disagree\w*|not persuad\w*|unconvinc\w*)\b",
}


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
    evidence = len(set(_FIGURE.findall(final)) & set(_FIGURE.findall(case))) + len(words & of_case) // 3
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
    """Grades by what it counts in the judged text; with chance ``1 - accuracy`` of the observer a grade is one step off."""

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
        luck = (int(digest[i : i + 8], 16) / 2**32 for i in range(0, len(digest), 8))
        grades = dict(zip(CRITERIA, deserved(asked), strict=True))
        for (name, grade), chance, side in zip(grades.items(), luck, luck, strict=False):
            if chance >= own.accuracy:
                grades[name] = min(max(grade + (1 if side < 0.5 else -1), 0), BEST_GRADE)
        return json.dumps(grades)


def _longest(benchmark: Any, model: ModelSpec, judge: ModelSpec) -> list[Task]:
    if model.provider == "replay":
        return []  # nobody knows how much of it will be imported
    found = []
    for name, items in asked(benchmark):
        # No two conditions have equal texts: equal ones would be planned as one.
        texts = [f"{step} {name} ".ljust(ANSWER_CHARACTERS, "x") for step in (STEP_A, B_SOCIAL)]
        found += [Case(item, name, *texts) for item in items]  # type: ignore[arg-type]
    return judge_tasks(found, judge)


def _read(benchmark: Any, transcripts: pl.DataFrame, responses: pl.DataFrame) -> pl.DataFrame:
    if responses.is_empty():
        return pl.DataFrame(schema=JUDGEMENT_SCHEMA)
    name, run = responses.select("model", "run").row(0)
    given, model = cases(benchmark.items, responses), benchmark.study.model(name)
    return read_judgements(transcripts, given, benchmark.judges, model=model, run=run)


JUDGING = Judging(
    wanted=lambda benchmark: bool(benchmark.judges),
    judges=lambda benchmark, spec: eligible(benchmark.judges, spec),
    tasks=lambda benchmark, judge, responses: judge_tasks(cases(benchmark.items, responses), judge),
    longest=_longest,
    modes=modes,
    read=_read,
    row=Judgement,
    respondent=lambda benchmark, spec: SimulatedJudge(spec.observer),
    prompt_digest=lambda benchmark: [judge_words()[1]],
)
