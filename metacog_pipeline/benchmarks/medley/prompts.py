"""What a model is shown of the others, the words it is sent, and the three calls of an instance.

Of analysts it is shown positions in place of confidences, of a consensus the direction. Prompts and scores of a condition
are made from the instance that `presented` returns. Each call is a context of its own: B-private and B-social know of step
A what its reply says, quoted whole. Every text that fills a place of a wording, ``{{vignette}}`` and the like, is between
two lines with a mark made from the text itself.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metacog_pipeline.asking.types import Ask
from metacog_pipeline.benchmarks.medley import items
from metacog_pipeline.benchmarks.medley.construction import pool
from metacog_pipeline.benchmarks.medley.items import claim_item, claim_items
from metacog_pipeline.files import canonical_json, read_toml, sha256_hex, shipped
from metacog_pipeline.llm.types import Constraint, JsonObject, Message, Status
from metacog_pipeline.transcripts.parquet import without_surrogates

SUPPORTS, OPPOSES, UNCERTAIN, UNKNOWN = "supports", "opposes", "uncertain", "?"
SUPPORTED_FROM, OPPOSED_TO = 0.7, 0.3  # confidences, 0..1
STRONG_BELOW, MODERATE_BELOW = 0.15, 0.25  # standard deviation of the confidences
STRONG_SHARE, MODERATE_SHARE = 0.75, 0.5  # of the analysts who hold the majority position
# Section 5: instances asked with two analysts are those on which the models of the panel differ most.
STRIPPED_TO, STRIPPED_INSTANCES = 2, 50
_POSITION_OF = {"very_high": SUPPORTS, "high": SUPPORTS, "low": OPPOSES, "very_low": OPPOSES}
_CERTIFIED = {"support": "majority supports", "oppose": "majority opposes"}
_OTHER_SIDE = {"support": "oppose", "oppose": "support"}
_DIGITS = 12  # 1 - 0.7 is 0.3, so that an inverted consensus of 0.7 opposes


def applicable(instances: Sequence[items.Instance], condition: str) -> list[items.Instance]:
    """Return the instances that are asked in a condition."""
    if condition == items.ADVERSARIAL:
        return [instance for instance in instances if instance.is_known_answer]
    least = items.DOSES.get(condition, STRIPPED_TO if condition == items.STRIPPED else -1)
    able = [instance for instance in instances if len(instance.analysts) > least]
    if condition != items.STRIPPED:
        return able
    ranked = []
    for each in able:  # by the mean JSD of the analysts over the claims: it is known before a model is asked
        known = [claim.jsd_score for claim in each.claims if claim.jsd_score is not None]
        # Equal but for rounding is equal.
        ranked.append((-round(sum(known) / len(known), 12) if known else 1.0, each.item_id))
    most = {name for _, name in sorted(ranked)[:STRIPPED_INSTANCES]}
    return [instance for instance in able if instance.item_id in most]


def presented(instance: items.Instance, condition: str, *, named: bool = False) -> items.Instance:
    """Return the instance as a condition shows it; ``named``: analysts under their models' names, as in the package."""
    shown = instance
    # Stripped keeps the two that were selected last, a dose the first, with a consensus of those by the published rule.
    if condition == items.STRIPPED or condition in items.DOSES:
        ranked = {model: place for place, model in enumerate(instance.selected_models)}
        analysts = instance.analysts
        order = sorted(range(len(analysts)), key=lambda at: (ranked.get(analysts[at].model_id, -1), at))
        kept = order[-STRIPPED_TO:] if condition == items.STRIPPED else order[: items.DOSES[condition]]
        few = tuple(analysts[place] for place in sorted(kept))
        claims = [claim.claim_id for claim in instance.claims]
        consensus = pool.label_median([pool.rated_labels(each.response, claims) for each in few], claims)
        shown = instance.changed(analysts=few, consensus=consensus)
    elif condition == items.ADVERSARIAL:
        shown = instance.changed(consensus=inverted(instance.consensus))
    return shown if named else items.anonymised(shown)


def inverted(consensus: items.Consensus) -> items.Consensus:
    """Return the inverted consensus: c becomes 1 - c, support becomes opposition and the other way round."""
    turned, details = dict(consensus.claim_confidences), {}
    for claim, given in turned.items():
        turned[claim] = given if (value := _finite(given)) is None else round(1 - value, _DIGITS)
    for claim, given in consensus.claim_details.items():
        detail = details[claim] = dict(given)
        side, label = detail.get("majority_position"), detail.get("median_confidence")
        if isinstance(side, str):
            detail["majority_position"] = _OTHER_SIDE.get(side, side)
        if label in pool.SCALE:
            detail["median_confidence"] = pool.SCALE[-1 - pool.SCALE.index(label)]
        if isinstance(counts := detail.get("position_distribution"), dict):
            detail["position_distribution"] = {_OTHER_SIDE.get(one, one): n for one, n in counts.items()}
    return items.Consensus(turned, details, consensus.method)


def turned_visibly(instance: items.Instance) -> int:
    """Return how many claims of an instance show another direction when the consensus is inverted."""
    given, turned = instance.consensus, inverted(instance.consensus)
    return sum(direction(given, c.claim_id) != direction(turned, c.claim_id) for c in instance.claims)


def position(confidence: object) -> str:
    """Return what is shown in the place of a confidence: supports, opposes or uncertain."""
    return _POSITION_OF.get(str(confidence).lower().strip(), UNCERTAIN)


def masked_analysts(instance: items.Instance) -> list[dict[str, Any]]:
    """Return what is shown of each analyst: its name, and its reply with positions for confidences."""
    found, key = [], "claim_level_assessments"
    for analyst in instance.analysts:
        response = analyst.response
        shown = {name: told for name, told in response.items() if name not in ("analyst", "model_id", key)}
        if isinstance(response.get(key), list):
            shown[key] = [_masked(each) if isinstance(each, dict) else each for each in claim_items(response)]
        found.append({"analyst": analyst.model_id, **shown})
    return found


def _masked(item: Mapping[str, Any]) -> dict[str, Any]:
    head = {key: item[key] for key in ("claim_id", "claim_text") if key in item}
    # The position comes before the reasons, as the confidence did.
    head["position"] = position(item.get("confidence", ""))
    return head | {key: value for key, value in item.items() if key not in (*head, "confidence")}


def masked_consensus(consensus: items.Consensus) -> dict[str, Any]:
    """Return what is shown of a consensus: its method, and of each claim direction, strength and number of raters."""
    summary = {}
    for claim in consensus.claim_confidences:
        strength, raters = _agreement(consensus.claim_details.get(claim, {}))
        shown = {"direction": direction(consensus, claim), "agreement_strength": strength}
        summary[claim] = {**shown, "n_analysts": raters}
    return {"method": consensus.method or "jackknife_median", "claim_summary": summary}


def direction(consensus: items.Consensus, claim: str) -> str:
    """Return the direction that is shown of a claim."""
    # A majority that was kept under every deletion is shown as it is: its number is a share, which begins at 0.54. Other
    # numbers represent labels, of which high and very high support, low and very low oppose.
    detail = consensus.claim_details.get(claim, {})
    if consensus.method == pool.MAJORITY_METHOD and "stable" in detail:
        side = detail.get("majority_position") if detail["stable"] is True else None
        return _CERTIFIED.get(side, "divided") if isinstance(side, str) else "divided"
    value = _finite(consensus.claim_confidences.get(claim))
    if value is None:
        return "unknown"
    if value >= SUPPORTED_FROM:
        return "majority supports"
    return "majority opposes" if value <= OPPOSED_TO else "divided"


def _agreement(detail: Mapping[str, Any]) -> tuple[str, object]:
    """Return strength and number of raters, from the majority's share or else, as in the package, from a deviation."""
    raters, majority = _finite(detail.get("total_analysts")), _finite(detail.get("majority_strength"))
    if raters and majority is not None:
        share = majority / raters
        strength = "strong" if share >= STRONG_SHARE else "moderate" if share >= MODERATE_SHARE else "weak"
        return strength, detail["total_analysts"]
    deviation = _finite(detail.get("std"))
    if deviation is None or deviation >= MODERATE_BELOW:
        return "weak", detail.get("n_analysts", UNKNOWN)
    return "strong" if deviation < STRONG_BELOW else "moderate", detail.get("n_analysts", UNKNOWN)


def held(analyst: items.Analyst, claim_id: str) -> str:
    """Return the position an analyst takes on a claim: supports, opposes or uncertain; ``?`` where it rates it nowhere."""
    if (item := claim_item(analyst.response, claim_id)) is None:
        return UNKNOWN
    if (value := _finite(given := item.get("confidence", ""))) is None:
        return position(given)
    return SUPPORTS if value >= SUPPORTED_FROM else OPPOSES if value <= OPPOSED_TO else UNCERTAIN


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


MODES = ("json_schema", "text")
ANSWER_TOKENS = 10_000  # the least a reply may take; a model row that allows more is taken at its word
#: How two steps are worded in the conditions that differ in their words: the bare request, and the generic nudge.
BARE, GENERIC = "b_social_minimal", "b_private_generic"
_WORDS = ("scale", "claims", "claims_again")
Messages = tuple[Message, ...]
PLACE = re.compile(r"\{\{([a-z_]+)\}\}")
_QUOTED = re.compile(r"=== BEGIN ([a-z_]+) ([0-9a-f]{16}) ===\n(.*?)\n=== END \1 \2 ===", re.DOTALL)


@dataclass(frozen=True)
class Wording:
    """Every text of a study's prompts; ``system`` is the system message of every call, ``""`` for none."""

    texts: Mapping[str, str]
    system: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 over all texts: equal digests mean equal words."""
        # True is of a setting that is gone: without it, answers kept under these words would be asked again.
        return sha256_hex(canonical_json([self.system, True, sorted(self.texts.items())]))

    def messages(self, step: str, item: items.Instance, material: Mapping[str, str]) -> Messages:
        """Return the messages of a step about an instance, with the places of its text filled in."""
        listed = "\n".join(f"{claim.claim_id}: {claim.claim_text}" for claim in item.claims)
        everything = {"vignette": item.vignette, "claim_list": listed, **material}
        keys = ("given_claims", "given_claims_again") if item.states_claims else ("own_claims", "")
        words = {name: self.texts.get(key, "") for name, key in zip(_WORDS, ("scale", *keys), strict=True)}
        text = PLACE.sub(lambda place: words.get(place[1], place[0]), self.texts[step])
        # In one pass: places in what is filled in are the text of a model or a case.
        text = PLACE.sub(lambda place: fenced(place[1], everything[place[1]]), text)
        return (*((Message("system", self.system),) if self.system else ()), Message("user", text))


def fenced(name: str, text: str) -> str:
    """Return a text as a quotation called ``name``, with a mark of its own that does not occur in it."""
    text = without_surrogates(text)
    digest = sha256_hex(text)
    while (mark := digest[:16]) in text:
        digest = sha256_hex(digest)
    return f"=== BEGIN {name} {mark} ===\n{text}\n=== END {name} {mark} ==="


def quoted(messages: Iterable[Message]) -> dict[str, str]:
    """Return the quotations in the user's message by name; the words between them do not matter."""
    text = next((message.content for message in messages if message.role == "user"), "")
    return {name: inside for name, _, inside in reversed(_QUOTED.findall(text))}


def messages(step: str, shown: items.Instance, condition: str, step_a: str = "") -> Messages:
    """Return the messages of a step: ``shown`` is the instance as its condition presents it, ``step_a`` that reply."""
    wording = load_wording()
    if step != items.B_SOCIAL:
        name = GENERIC if step == items.B_PRIVATE and condition == items.NUDGED else step
        return wording.messages(name, shown, {"step_a": step_a})
    consensus = json.dumps(masked_consensus(shown.consensus), ensure_ascii=False)
    name, analysts = items.B_SOCIAL, masked_analysts(shown)
    if condition == items.MINIMAL:  # the analysts as they wrote, and no word on how to revise
        name, analysts = BARE, [{"analyst": one.model_id, **one.response} for one in shown.analysts]
    listed = "[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in analysts) + "\n]"
    return wording.messages(name, shown, {"step_a": step_a, "analysts": listed, "consensus": consensus})


async def ask_item(item: items.Instance, condition: str, mode: str, ask: Ask, room: int) -> None:
    """Ask every step of ``item``; the answers are kept by ``ask``. ``room`` is the model's limit of tokens."""
    shown, step_a = presented(item, condition), ""
    claims = tuple(claim.claim_id for claim in item.claims) or items.CLAIM_IDS
    for step in items.STEPS:
        words = messages(step, shown, condition, step_a)
        held, tokens = constraint(mode, step, claims), max(room, ANSWER_TOKENS)
        # Replies are long, and nobody reads alternatives to their tokens.
        answer = await ask(step, words, constraint=held, max_tokens=tokens, top_logprobs=0)
        if step == items.STEP_A:
            step_a = answer.text
            # Refused or cut off it cannot be quoted whole; one that cannot be read is quoted as it is.
            if answer.status is not Status.OK:
                return


@functools.cache
def constraint(mode: str, step: str, claim_ids: tuple[str, ...] = items.CLAIM_IDS) -> Constraint | None:
    """Return what the answer to ``step`` is held to in ``mode``."""
    if mode == "text":
        return None
    text: Any = {"type": "string"}
    kinds = (items.LABELS, items.DIFFICULTIES, claim_ids)
    label, difficulty, names = (text | {"enum": list(own)} for own in kinds)
    claim = {"claim_id": names, "claim_text": text, "confidence": label, "reasoning": text}
    fields = {"assessment": text, "overall_confidence": label, "difficulty_prediction": difficulty}
    more = {"key_uncertainties": {"type": "array", "items": text}}
    if step != items.STEP_A:
        del claim["claim_text"]
        fields, more = {"assessment": text}, {}
    fields["claim_level_assessments"] = {"type": "array", "items": json_object(claim)}
    return JsonObject("revision" if not more else "assessment", json.dumps(json_object(fields | more)))


def json_object(properties: dict[str, object]) -> dict[str, object]:
    """Return the JSON schema of an object with exactly these properties."""
    fixed = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": properties, **fixed}


@functools.cache  # the shipped file does not change under a running process
def load_wording() -> Wording:
    """Return the words of `data/medley/prompts.toml`."""
    texts = read_toml(shipped("data", "medley", "prompts.toml"))
    system = texts.pop("system")
    return Wording({key: text for key, text in texts.items() if key != "id"}, system)
