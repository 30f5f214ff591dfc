"""The words a model is sent and the three calls of an instance: alone, reviewing its own answer, after reading others.

Each call is a context of its own: B-private and B-social know of step A what its reply says, quoted whole. Every text that
fills a place of a wording, ``{{vignette}}`` and the like, is between two lines with a mark made from the text itself.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.asking.types import Ask
from metacog_pipeline.benchmarks.medley import items
from metacog_pipeline.benchmarks.medley.presentation import masked_analysts, masked_consensus, presented
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.llm.types import Constraint, JsonObject, Message, Status
from metacog_pipeline.study.wording import read_words, require_known, require_text, system_text
from metacog_pipeline.transcripts.parquet import without_surrogates

MODES = ("json_schema", "text")
ANSWER_TOKENS = 10_000  # the least a reply may take; a model row that allows more is taken at its word
#: How two steps are worded in the conditions that differ in their words: the bare request, and the generic nudge.
BARE, GENERIC = "b_social_minimal", "b_private_generic"
_WORDS = ("scale", "claims", "claims_again")
_OPTIONAL = ("scale", "given_claims_again")
_TEXTS = ("scale", "own_claims", "given_claims", "given_claims_again", *items.STEPS, BARE, GENERIC)
# What a text must hold. Besides it may hold the claims and `_WORDS`: a private step never shows the others.
_NEEDED: Mapping[str, tuple[str, ...]] = {
    items.STEP_A: ("vignette",),
    items.B_PRIVATE: ("vignette", "step_a"),
    items.B_SOCIAL: ("vignette", "step_a", "analysts", "consensus"),
    GENERIC: ("vignette", "step_a"),
    BARE: ("vignette", "step_a", "analysts"),
}
PLACE = re.compile(r"\{\{([a-z_]+)\}\}")
_QUOTED = re.compile(r"=== BEGIN ([a-z_]+) ([0-9a-f]{16}) ===\n(.*?)\n=== END \1 \2 ===", re.DOTALL)
_MARK_LENGTH = 16


@dataclass(frozen=True)
class Wording:
    """Every text of a study's prompts; ``system`` is the system message of every call, ``""`` for none."""

    id: str
    texts: Mapping[str, str]
    system: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 over all texts: equal digests mean equal words."""
        # True is of a setting that is gone: without it, answers kept under these words would be asked again.
        return sha256_hex(canonical_json([self.system, True, sorted(self.texts.items())]))

    def messages(self, step: str, item: items.Instance, material: Mapping[str, str]) -> tuple[Message, ...]:
        """Return the messages of a step about an instance, with the places of its text filled in."""
        listed = "\n".join(f"{claim.claim_id}: {claim.claim_text}" for claim in item.claims)
        everything = {"vignette": item.vignette, "claim_list": listed, **material}
        own, given = ("given_claims", "given_claims_again") if item.states_claims else ("own_claims", "")
        words = {
            name: self.texts.get(key, "") for name, key in zip(_WORDS, ("scale", own, given), strict=True)
        }
        text = PLACE.sub(lambda place: words.get(place[1], place[0]), self.texts[step])
        # In one pass: places in what is filled in are the text of a model or a case.
        text = PLACE.sub(lambda place: fenced(place[1], everything[place[1]]), text)
        return (*((Message("system", self.system),) if self.system else ()), Message("user", text))


def fenced(name: str, text: str) -> str:
    """Return a text as a quotation called ``name``, with a mark of its own that does not occur in it."""
    text = without_surrogates(text)
    digest = sha256_hex(text)
    while digest[:_MARK_LENGTH] in text:
        digest = sha256_hex(digest)
    mark = digest[:_MARK_LENGTH]
    return f"=== BEGIN {name} {mark} ===\n{text}\n=== END {name} {mark} ==="


def quoted(messages: Iterable[Message]) -> dict[str, str]:
    """Return the quotations in the user's message by name; the words between them do not matter."""
    text = next((message.content for message in messages if message.role == "user"), "")
    return {name: inside for name, _, inside in reversed(_QUOTED.findall(text))}


# --- calls ------------------------------------------------------------------------------------------------------------
def messages(
    step: str, shown: items.Instance, condition: str, wording: Wording, step_a: str = ""
) -> tuple[Message, ...]:
    """Return the messages of a step: ``shown`` is the instance as its condition presents it, ``step_a`` that reply."""
    if step != items.B_SOCIAL:
        name = GENERIC if step == items.B_PRIVATE and condition == items.NUDGED else step
        return wording.messages(name, shown, {"step_a": step_a})
    consensus = json.dumps(masked_consensus(shown.consensus), ensure_ascii=False)
    name, analysts = items.B_SOCIAL, masked_analysts(shown)
    if condition == items.MINIMAL:  # the analysts as they wrote, and no word on how to revise
        name, analysts = BARE, [{"analyst": one.model_id, **one.response} for one in shown.analysts]
    listed = "[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in analysts) + "\n]"
    return wording.messages(name, shown, {"step_a": step_a, "analysts": listed, "consensus": consensus})


async def ask_item(
    item: items.Instance, condition: str, mode: str, ask: Ask, wording: Wording, room: int
) -> None:
    """Ask every step of ``item``; the answers are kept by ``ask``. ``room`` is the model's limit of tokens."""
    shown = presented(item, condition)
    claims = tuple(claim.claim_id for claim in item.claims) or items.CLAIM_IDS
    step_a = ""
    for step in items.STEPS:
        words = messages(step, shown, condition, wording, step_a)
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
    alone, text = step == items.STEP_A, {"type": "string"}
    label: dict[str, object] = {"type": "string", "enum": list(items.LABELS)}
    claim: dict[str, object] = {"claim_id": {"type": "string", "enum": list(claim_ids)}}
    claim |= {**({"claim_text": text} if alone else {}), "confidence": label, "reasoning": text}
    fields: dict[str, object] = {"assessment": text}
    if alone:
        difficulty = {"type": "string", "enum": list(items.DIFFICULTIES)}
        fields |= {"overall_confidence": label, "difficulty_prediction": difficulty}
    fields["claim_level_assessments"] = {"type": "array", "items": json_object(claim)}
    if alone:
        fields["key_uncertainties"] = {"type": "array", "items": text}
    return JsonObject("assessment" if alone else "revision", json.dumps(json_object(fields)))


def json_object(properties: dict[str, object]) -> dict[str, object]:
    """Return the JSON schema of an object with exactly these properties."""
    fixed = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": properties, **fixed}


# --- wordings ---------------------------------------------------------------------------------------------------------
def load_wording(path: Path | None = None) -> Wording:
    """Return the shipped wording; with the texts of the TOML file ``path`` in place of its own where one is given."""
    ours = _wording(shipped("data", "medley", "prompts.toml"), Wording("", {}))
    return ours if path is None else _wording(path, ours)


def _wording(path: Path, base: Wording) -> Wording:
    data, texts = read_words(path), dict(base.texts)
    require_known(str(path), data, ("id", "system", *_TEXTS))
    for key in (key for key in _TEXTS if key in data):
        where, text = f"{path}: {key}", data[key]
        texts[key] = "" if key in _OPTIONAL and text == "" else require_text(where, text)
        needed, named = set(_NEEDED.get(key, ())), set(PLACE.findall(texts[key]))
        allowed = {"claim_list"} if needed or key.startswith("given_claims") else set()
        allowed |= {*needed, *_WORDS} if needed else set()
        if not needed <= named <= allowed:
            are, need, may = (", ".join(sorted(each)) or "none" for each in (named, needed, allowed))
            raise StudyError(f"{where}: places are {are}; needed: {need}; allowed: {may}")
    name = require_text(f"{path}: id", data.get("id", f"own:{path.stem}"))
    return Wording(name, texts, system_text(path, data, base.system))
