"""Text of a reply → JSON object → claim entries → numbers of confidences, and the row of an instance. Nothing raises.

Any text that holds no object gives an error object, "all claims missing".
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any, NamedTuple

import polars as pl

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, LABELS, LARGEST, STEPS, Instance
from metacog_pipeline.reading import rows
from metacog_pipeline.reading.calls import AGAIN, Calls, ended
from metacog_pipeline.reading.envelope import turn_of

CUTS_TRIED = 5
FENCE = "```"
NO_JSON = object()  # told apart from the JSON value null
LONGEST_LABEL = 1000  # characters; a longer text is no label
# How a label may be shortened or spelled, after cleaning; "ve" and "very" are very high, "very_lo" is very low.
_SPELLINGS = {
    "very_high": ("ve", "ver", "very", "very high", "veryhigh", "v_high", "very_hi", "vhigh", "vh"),
    "high": ("hi", "h"),
    "moderate": ("mod", "med", "medium", "m", "not applicable", "n/a", "na", "uncertain", "unsure"),
    "low": ("lo", "l"),
    "very_low": ("very low", "verylow", "very_lo", "v_low", "vlow", "vl"),
}
_WRAPPERS = ("level", "confidence", "value", "rating")
_IN_PARENTHESES = re.compile(r"\s*\([^)]*\)")


def strict_json(text: str) -> Any:
    """Return the value of a JSON text; `NO_JSON` for any other."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return NO_JSON


def parse_reply(raw: str) -> dict[str, Any]:
    """Return the object a reply holds, an array as its claims, or ``{"_parse_error": True, "_raw": raw}``."""
    found = _object(turn_of(raw))
    return {"_parse_error": True, "_raw": raw} if found is None else found


def is_error(response: object) -> bool:
    """Say whether a parsed reply is the error object, or neither an object nor an array."""
    lacking = response.get("_parse_error") if isinstance(response, dict) else not isinstance(response, list)
    return bool(lacking)


def _object(text: str) -> dict[str, Any] | None:
    # In the package's order: the whole turn, the first fenced block, what is between the first { and the last }.
    value = strict_json(text)
    if value is None or isinstance(value, str | int | float):
        return None  # a lone number, word or string
    opened = text.find(FENCE)
    closed = text.find(FENCE, opened + len(FENCE)) if opened >= 0 else -1
    if value is NO_JSON and closed >= 0:
        value = strict_json(text[opened + len(FENCE) : closed].removeprefix("json"))
    if isinstance(value, list):
        return {"claim_level_assessments": value}
    start = text.find("{")
    if not isinstance(value, dict) and start >= 0:
        value = strict_json(text[start : text.rfind("}") + 1])
        value = value if isinstance(value, dict) else _repaired(text[start:])
    return value if isinstance(value, dict) else None


def _repaired(fragment: str) -> dict[str, Any] | None:
    """Read JSON that was cut off: close what is open, or drop the last piece and try again."""
    for _ in range(CUTS_TRIED):
        last = fragment.rfind("}")
        for each in ([fragment[: last + 1]] if last > 0 else []) + [fragment]:
            ends = "]" * (each.count("[") - each.count("]")) + "}" * (each.count("{") - each.count("}"))
            if (value := strict_json(each + ends)) and isinstance(value, dict):
                return value
        fragment = fragment[: max(fragment.rfind(","), 0)]
        if not fragment:
            return None
    return None


def claim_items(response: object) -> Sequence[Any]:
    """Return the claim items of a reply: of an object its ``claim_level_assessments``, of an array itself."""
    if isinstance(response, dict):
        response = response.get("claim_level_assessments")
    return response if isinstance(response, list) else ()


def claim_item(response: object, claim_id: str, claim_text: str = "") -> Mapping[str, Any] | None:
    """Return the first item with exactly this id; without one, the first whose text holds the claim's or is in it."""
    for item in claim_items(response):
        if isinstance(item, dict) and item.get("claim_id") == claim_id:
            return dict(item)
    wanted = claim_text.lower()
    for item in claim_items(response) if wanted else ():
        text = item.get("claim_text", "") if isinstance(item, dict) else None
        if isinstance(text, str) and (text.lower() in wanted or wanted in text.lower()):
            return dict(item)
    return None


@dataclass(frozen=True)
class LabelMap:
    """The numbers of the five labels, each 0..1, and of anything unrecognised."""

    name: str
    very_high: float
    high: float
    moderate: float  # the paper says "medium"
    low: float
    very_low: float
    unrecognised: float

    @functools.cached_property
    def by_text(self) -> dict[str, float]:
        """The number of each way to spell a label."""
        ways = _SPELLINGS.items()
        return {text: getattr(self, label) for label, own in ways for text in (label, *own)}


REFERENCE_MAP = LabelMap("reference", 0.95, 0.80, 0.55, 0.35, 0.15, 0.55)
PAPER_MAP = LabelMap("paper", 0.9, 0.7, 0.5, 0.3, 0.1, 0.5)


def claim_confidence(
    response: object, claim_id: str, claim_text: str = "", labels: LabelMap = REFERENCE_MAP
) -> float | None:
    """Return the confidence a reply states for a claim, or None where it states none."""
    item = claim_item(response, claim_id, claim_text)
    return None if item is None else confidence_number(item.get("confidence"), labels)


def num(value: object, labels: LabelMap = REFERENCE_MAP) -> float:
    """Return the number of any JSON value; wrapped values are unwrapped."""
    while isinstance(value, dict | list):
        key: Any = 0 if isinstance(value, list) else next((key for key in _WRAPPERS if key in value), None)
        if key is None or not value:
            return labels.unrecognised
        value = value[key]
    return confidence_number(value, labels)


def confidence_number(value: object, labels: LabelMap = REFERENCE_MAP) -> float:
    """Return the number of the ``confidence`` of a claim: wrapped values are not unwrapped there."""
    if isinstance(value, str):
        return _label_number(value, labels)
    # Numbers are taken as they are, but for one that is not finite or too large to be squared.
    return float(value) if isinstance(value, int | float) and abs(value) <= LARGEST else labels.unrecognised


def _label_number(text: str, labels: LabelMap) -> float:
    if text in labels.by_text:
        return labels.by_text[text]
    cleaned = text.strip().lower().replace("-", "_")
    if len(cleaned) > LONGEST_LABEL:
        return labels.unrecognised
    begun = next((label for label in LABELS if len(cleaned) >= 2 and label.startswith(cleaned)), "")
    candidates = (cleaned, _IN_PARENTHESES.sub("", cleaned).strip(), begun)
    return next((labels.by_text[each] for each in candidates if each in labels.by_text), labels.unrecognised)


FORM = 'one JSON object with "claim_level_assessments", a rating for each of the claims'
UNPARSED = "answer_unparsed"
_RATED = "confidence in the claim under the reference map, 0..1; null where not rated"
RATED = {letter: [f"{letter}_{claim.lower()}" for claim in CLAIM_IDS] for letter in "aps"}
#: One instance under one condition: what each step rates. ``status`` is that of the first step, in the order of asking,
#: that is not ``ok``.
Response: type = make_dataclass(
    "Response",
    [
        ("domain", str),
        ("is_known_answer", bool),
        ("failed_step", Annotated[str | None, "the first step that is not ok"]),
        *((f"status_{step}", str) for step in STEPS),
        *((name, Annotated[float | None, _RATED]) for names in RATED.values() for name in names),
        ("overall_confidence", Annotated[float | None, "confidence in the whole assessment of step A, 0..1"]),
        ("reply_step_a", Annotated[str | None, "the parsed reply as JSON, error objects included"]),
        *((f"reply_{step}", str | None) for step in STEPS[1:]),
        *(("status", str, "not_run"), ("reason", str | None, None)),
    ],
    bases=(contract.Response,),
    namespace={"__doc__": "The typed reading of one instance's three replies under one condition."},
)


class _Reading(NamedTuple):
    """What one step says: the parsed reply as JSON, and numbers of the reference map."""

    status: str
    reason: str | None = None
    reply: str | None = None
    confidences: tuple[float | None, ...] = (None,) * len(CLAIM_IDS)
    overall: float | None = None


def parse(item: Instance, calls: Calls) -> Any:
    """Return the reading of one instance's calls."""
    read: dict[str, _Reading] = {}
    columns: dict[str, Any] = {"domain": item.domain, "is_known_answer": item.is_known_answer}
    for step, names in zip(STEPS, RATED.values(), strict=True):
        cut = ended(calls.get(step))
        read[step] = _reading(item, reply_text(calls, step)) if cut is None else _Reading(*cut)
        columns |= dict(zip(names, read[step].confidences, strict=True))
        columns |= {f"status_{step}": read[step].status, f"reply_{step}": read[step].reply}
    failed = next((step for step, reading in read.items() if reading.status != "ok"), None)
    worst, overall = read[failed or STEPS[0]], read[STEPS[0]].overall
    columns |= {"status": worst.status, "reason": worst.reason, "failed_step": failed}
    return Response(**columns, overall_confidence=overall)


@functools.lru_cache(maxsize=1024)  # an answer that counts under several conditions is read once
def _reading(item: Instance, text: str) -> _Reading:
    reply = parse_reply(text)
    try:
        kept = json.dumps(reply)
    except RecursionError:  # nested too deeply to be written
        kept = json.dumps({"_parse_error": True, "_raw": text})
    stated = reply.get("overall_confidence")
    overall = None if stated is None else confidence_number(stated)
    texts = {claim.claim_id: claim.claim_text for claim in item.claims}
    rated = tuple(claim_confidence(reply, claim, texts.get(claim, "")) for claim in CLAIM_IDS)
    if not is_error(reply) and any(value is not None for value in rated):
        return _Reading("ok", None, kept, rated, overall)
    why = "holds no JSON object" if text.strip() else "is empty"
    why = why if is_error(reply) else "rates none of C1 to C5"
    return _Reading(UNPARSED, f"the reply {why}", kept, overall=overall)


def blanks_marked(responses: pl.DataFrame) -> pl.DataFrame:
    """Return responses in which an imported row that leaves a step blank counts as unreadable, not as not asked yet."""
    blank = [pl.col(f"status_{step}") == "not_run" for step in STEPS]
    left = (pl.col("source") == "imported") & pl.any_horizontal(blank) & ~pl.all_horizontal(blank)
    marked = pl.when(left & (pl.col("status") == "not_run"))
    return responses.with_columns(
        reason=marked.then(pl.format("{} was left blank", "failed_step")).otherwise("reason"),
        status=marked.then(pl.lit(UNPARSED)).otherwise("status"),
    )


def reply_text(calls: Calls, step: str) -> str:
    """Return the reply to a step that counts: the first, or that to the second ask where the first holds no object."""
    first, second = calls[step].text, calls.get(step + AGAIN)
    if second is None or ended(second) is not None or not is_error(parse_reply(first)):
        return first
    return second.text


def again(item: Instance, calls: Calls) -> list[tuple[str, str]]:
    """Return the steps to ask once more, with the form to ask for."""
    read = parse(item, calls)
    return [(step, FORM) for step in STEPS if step in calls and getattr(read, f"status_{step}") == UNPARSED]


def read_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Read one row of ``metacog read``: the rating of each claim, as text and as a number from 0 to 1, by step."""
    calls = rows.calls_of(row, STEPS, STEPS[0])
    step = next(each for each in reversed(STEPS) if each in calls)
    if ended(calls[step]) is not None:
        return rows.unread("truncated", fields=None)
    reply = parse_reply(reply_text(calls, step))
    rated = {} if is_error(reply) else {claim: claim_confidence(reply, claim) for claim in CLAIM_IDS}
    fields = {claim: value for claim, value in rated.items() if value is not None}
    return rows.unread("ok" if fields else "no_answer", fields=fields or None, step=step)
