"""The words a model is sent: one user message per step, at most one system message for all.

A text of a wording holds places to fill in, ``{{vignette}}`` and the like. What is filled in is never searched for places
again. With fences, every filled-in text is quoted: it stands between a first and a last line that carry a mark made from
the text itself, so that no text can hold the line that ends it. `Wording.read` is the way back, from a message to what was
filled in.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.benchmarks.medley.items import STEPS, Instance
from metacog_pipeline.benchmarks.medley.presentation import (
    MASKING,
    Masking,
    masked_analysts,
    masked_consensus,
    masked_in_place,
)
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import canonical_json, sha256_hex, shipped
from metacog_pipeline.llm.types import Message
from metacog_pipeline.study.wording import read_words, require_known, require_text, system_text
from metacog_pipeline.transcripts.parquet import without_surrogates

STEP_A, B_PRIVATE, B_SOCIAL = STEPS
_WORDS = ("scale", "claims", "claims_again")
#: How two steps are worded in the conditions that differ in their words: the bare request, and the generic nudge.
BARE, GENERIC = "b_social_minimal", "b_private_generic"
STEP_OF = {**{step: step for step in STEPS}, BARE: B_SOCIAL, GENERIC: B_PRIVATE}
_TEXTS = ("scale", "own_claims", "given_claims", "given_claims_again", *STEP_OF)
_KEYS = ("id", "fences", "system", *_TEXTS)
# What a text must hold, and what it may hold: a private step never shows the others.
_NEEDED: Mapping[str, tuple[str, ...]] = {
    STEP_A: ("vignette",),
    B_PRIVATE: ("vignette", "step_a"),
    B_SOCIAL: ("vignette", "step_a", "analysts", "consensus"),
    GENERIC: ("vignette", "step_a"),
    BARE: ("vignette", "step_a", "analysts"),
}
_SOCIAL = ("analysts", "consensus")
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "scale": (),
    "own_claims": (),
    "given_claims": ("claim_list",),
    "given_claims_again": ("claim_list",),
    **{step: (needed[0], "claim_list", *needed[1:], *_WORDS) for step, needed in _NEEDED.items()},
}
PLACE = re.compile(r"\{\{([a-z_]+)\}\}")
_BEGIN = re.compile(r"=== BEGIN ([a-z_]+) ([0-9a-f]{16}) ===\n")
_MARK_LENGTH = 16
Part = tuple[str, str | None]  # words, then the name of what is filled in after them


@dataclass(frozen=True)
class Wording:
    """Every text of a study's prompts.

    ``texts`` maps a name to its text: the three steps, ``scale``, ``own_claims``, ``given_claims``,
    ``given_claims_again``. ``system`` is the system message of every call, ``""`` for none; ``fences`` whether what is
    filled in is marked off as a quotation. ``authors``: analysts and consensus are printed as the authors' package does.
    """

    id: str
    texts: Mapping[str, str]
    system: str = ""
    fences: bool = True
    authors: bool = False

    @property
    def digest(self) -> str:
        """SHA-256 over all texts: equal digests mean equal words."""
        return sha256_hex(canonical_json([self.system, self.fences, sorted(self.texts.items())]))

    def fill(self, step: str, given: bool, material: Mapping[str, str]) -> str:
        """Return the text of a step with its places filled in; ``given`` says whether the case states its claims."""
        message = []
        for words, name in self._parts(step, given):
            message.append(words)
            if name is not None:
                message.append(self._quoted(name, material[name]))
        return "".join(message)

    def read(self, step: str, given: bool, message: str) -> dict[str, str] | None:
        """Return what a message of this step was filled with, by name; None where it is no such message.

        Without fences a text ends where the words that follow it begin.
        """
        found: dict[str, str] = {}
        parts = self._parts(step, given)
        place = 0
        for number, (words, name) in enumerate(parts):
            if not message.startswith(words, place):
                return None
            place += len(words)
            if name is None:
                continue
            span = self._span(message, place, name, parts[number + 1][0])
            if span is None:
                return None
            start, end, place = span
            found.setdefault(name, message[start:end])
        return found if place == len(message) else None

    def _span(self, message: str, place: int, name: str, following: str) -> tuple[int, int, int] | None:
        """Return where a filled-in text begins and ends, and where the words after it begin."""
        if not self.fences:
            end = message.find(following, place) if following else len(message)
            return None if end < 0 else (place, end, end)
        begin = _BEGIN.match(message, place)
        if begin is None or begin[1] != name:
            return None
        last = _end(name, begin[2])
        end = message.find(last, begin.end())
        return None if end < 0 else (begin.end(), end, end + len(last))

    def _quoted(self, name: str, text: str) -> str:
        return fenced(name, text) if self.fences else without_surrogates(text)

    def _parts(self, step: str, given: bool) -> tuple[Part, ...]:
        if (step, given) not in self._compiled:
            raise StudyError(
                f"medley: the wording {self.id!r} has no text {step}; leave out the condition that asks it"
            )
        return self._compiled[step, given]

    @functools.cached_property
    def _compiled(self) -> dict[tuple[str, bool], tuple[Part, ...]]:
        return {
            (step, given): _parts(self.texts, step, given)
            for step in STEP_OF
            if step in self.texts
            for given in (False, True)
        }


def fenced(name: str, text: str) -> str:
    """Return a text as a quotation called ``name``, with a mark of its own that does not occur in it."""
    text = without_surrogates(text)
    digest = sha256_hex(text)
    while digest[:_MARK_LENGTH] in text:
        digest = sha256_hex(digest)
    mark = digest[:_MARK_LENGTH]
    return f"=== BEGIN {name} {mark} ===\n{text}{_end(name, mark)}"


def states_claims(instance: Instance) -> bool:
    """Say whether the case states its claims, so that nobody names claims of their own."""
    return bool(instance.claims) and all(claim.claim_text.strip() for claim in instance.claims)


def step_a_messages(instance: Instance, wording: Wording) -> tuple[Message, ...]:
    """Return the messages of step A: the case, and nothing else about it."""
    return _messages(wording, STEP_A, instance, {})


def b_private_messages(
    instance: Instance, step_a: str, wording: Wording, *, generic: bool = False
) -> tuple[Message, ...]:
    """Return the messages of B-private: the case and the whole reply to step A; ``generic``: without its five questions."""
    return _messages(wording, GENERIC if generic else B_PRIVATE, instance, {"step_a": step_a})


def bare_messages(instance: Instance, step_a: str, wording: Wording) -> tuple[Message, ...]:
    """Return the messages of the bare request: the analysts as they wrote, and no word on how to revise."""
    lines = (
        json.dumps({"analyst": analyst.model_id, **analyst.response}, ensure_ascii=False)
        for analyst in instance.analysts
    )
    shown = {"step_a": step_a, "analysts": "[\n" + ",\n".join(lines) + "\n]"}
    return _messages(wording, BARE, instance, shown)


def b_social_messages(
    instance: Instance, step_a: str, wording: Wording, masking: Masking = MASKING
) -> tuple[Message, ...]:
    """Return the messages of B-social, with the whole reply to step A, not the private revision.

    ``instance`` is as its condition shows it (`presentation.presented`); its confidences are masked here.
    """
    shown = masked_consensus(instance.consensus, masking)
    if wording.authors:
        analysts = [
            {"model_id": one.model_id, "response": masked_in_place(one.response)} for one in instance.analysts
        ]
        texts = json.dumps(analysts, indent=2), json.dumps(shown, indent=2)
    else:
        texts = analysts_text(instance), json.dumps(shown, ensure_ascii=False)
    social = {"step_a": step_a, "analysts": texts[0], "consensus": texts[1]}
    return _messages(wording, B_SOCIAL, instance, social)


def analysts_text(instance: Instance) -> str:
    """Return the masked analysts as a JSON array, one analyst a line."""
    lines = (json.dumps(shown, ensure_ascii=False) for shown in masked_analysts(instance))
    return "[\n" + ",\n".join(lines) + "\n]"


def load_wording(path: Path | None = None) -> Wording:
    """Return the shipped wording, with the texts of the TOML file ``path`` in the place of its own.

    Keys: ``id``, ``fences``, ``system``, ``scale``, ``own_claims``, ``given_claims``, ``given_claims_again``, and the three
    steps. Raises `StudyError` naming file, key and value.
    """
    ours = _read(shipped("data", "medley", "prompts.toml"), None)
    return ours if path is None else _read(path, ours)


def _messages(
    wording: Wording, step: str, instance: Instance, material: Mapping[str, str]
) -> tuple[Message, ...]:
    everything = {
        "vignette": instance.vignette,
        "claim_list": "\n".join(f"{claim.claim_id}: {claim.claim_text}" for claim in instance.claims),
        **material,
    }
    user = Message("user", wording.fill(step, states_claims(instance), everything))
    return (Message("system", wording.system), user) if wording.system else (user,)


def _end(name: str, mark: str) -> str:
    return f"\n=== END {name} {mark} ==="


def _parts(texts: Mapping[str, str], step: str, given: bool) -> tuple[Part, ...]:
    """Return a step's text as alternating words and places, ending in words."""
    words = {
        "scale": texts["scale"],
        "claims": texts["given_claims" if given else "own_claims"],
        "claims_again": texts["given_claims_again"] if given else "",
    }
    pieces = PLACE.split(PLACE.sub(lambda place: words.get(place[1], place[0]), texts[step]))
    return tuple(zip(pieces[::2], [*pieces[1::2], None], strict=True))


def _read(path: Path, base: Wording | None) -> Wording:
    data = read_words(path)
    require_known(str(path), data, _KEYS)
    name = require_text(f"{path}: id", data.get("id", f"own:{path.stem}"))
    system = system_text(path, data, base.system if base else "")
    fences = data.get("fences", base.fences if base else True)
    if not isinstance(fences, bool):
        raise StudyError(f"{path}: fences = {fences!r} must be true or false")
    texts = {**(base.texts if base else {}), **dict(_texts(path, data))}
    return Wording(name, texts, system, fences)


def _texts(path: Path, data: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for key in _TEXTS:
        if key not in data:
            continue
        text = data[key]
        if not isinstance(text, str) or not (text.strip() or key in ("scale", "given_claims_again")):
            raise StudyError(f"{path}: {key} = {text!r} must be a text that is not empty")
        _check_places(f"{path}: {key}", text, _NEEDED.get(key, ()), _ALLOWED[key])
        yield key, text


def _check_places(where: str, text: str, needed: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    named = PLACE.findall(text)
    for name in named:
        if name not in allowed:
            reason = "; a private step never shows the others" if name in _SOCIAL else ""
            known = ", ".join("{{" + one + "}}" for one in allowed) or "none"
            raise StudyError(f"{where}: {{{{{name}}}}} has no place there{reason}; allowed are: {known}")
    for name in needed:
        if name not in named:
            raise StudyError(f"{where}: {{{{{name}}}}} is missing; put it where that is to stand")
