"""The words a model is sent and the three calls of an instance: alone, reviewing its own answer, after reading others.

Each call is a context of its own: B-private and B-social know of step A what its reply says, quoted whole. A text of a
wording holds places to fill in, ``{{vignette}}`` and the like. With fences every filled-in text is quoted: it is between a
first and a last line that carry a mark made from the text itself, so no text can hold the line that ends it.

``wording = "reference"`` takes the words of the installed package medley-bench, a folder those of a copy of it. Its texts
are read as literals; nothing of it is imported or run, and nothing of it is shipped.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

from metacog_pipeline.asking.types import Ask
from metacog_pipeline.benchmarks.medley.items import (
    B_PRIVATE,
    B_SOCIAL,
    CLAIM_IDS,
    DIFFICULTIES,
    LABELS,
    MINIMAL,
    NUDGED,
    STEP_A,
    STEPS,
    Instance,
)
from metacog_pipeline.benchmarks.medley.presentation import (
    masked_analysts,
    masked_consensus,
    presented,
)
from metacog_pipeline.benchmarks.medley.read import DIMENSION_OF
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import canonical_json, read_toml, sha256_hex, shipped
from metacog_pipeline.llm.types import Constraint, JsonObject, Message, Status
from metacog_pipeline.study.wording import read_words, require_known, require_text, system_text
from metacog_pipeline.transcripts.parquet import without_surrogates

MODES = ("json_schema", "text")
ANSWER_TOKENS = 10_000  # the least a reply may take; a model row that allows more is taken at its word
#: How two steps are worded in the conditions that differ in their words: the bare request, and the generic nudge.
BARE, GENERIC = "b_social_minimal", "b_private_generic"
STEP_OF = {**{step: step for step in STEPS}, BARE: B_SOCIAL, GENERIC: B_PRIVATE}
_WORDS = ("scale", "claims", "claims_again")
_OPTIONAL = ("scale", "given_claims_again")
_TEXTS = ("scale", "own_claims", "given_claims", "given_claims_again", *STEP_OF)
# What a text must hold. Besides it may hold the claims and `_WORDS`: a private step never shows the others.
_NEEDED: Mapping[str, tuple[str, ...]] = {
    STEP_A: ("vignette",),
    B_PRIVATE: ("vignette", "step_a"),
    B_SOCIAL: ("vignette", "step_a", "analysts", "consensus"),
    GENERIC: ("vignette", "step_a"),
    BARE: ("vignette", "step_a", "analysts"),
}
PLACE = re.compile(r"\{\{([a-z_]+)\}\}")
_BEGIN = re.compile(r"=== BEGIN ([a-z_]+) ([0-9a-f]{16}) ===\n")
_MARK_LENGTH = 16
Part = tuple[str, str | None]  # words, then the name of what is filled in after them


@dataclass(frozen=True)
class Wording:
    """Every text of a study's prompts.

    ``system`` is the system message of every call, ``""`` for none; ``fences`` whether what is filled in is marked off as a
    quotation. ``authors``: analysts and consensus are printed as the authors' package does.
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

    def messages(self, step: str, item: Instance, material: Mapping[str, str]) -> tuple[Message, ...]:
        """Return the messages of a step about an instance, with the places of its text filled in."""
        listed = "\n".join(f"{claim.claim_id}: {claim.claim_text}" for claim in item.claims)
        everything = {"vignette": item.vignette, "claim_list": listed, **material}
        quote = fenced if self.fences else lambda name, text: without_surrogates(text)
        parts = self._parts(step, item.states_claims)
        text = "".join(w + ("" if name is None else quote(name, everything[name])) for w, name in parts)
        return (*((Message("system", self.system),) if self.system else ()), Message("user", text))

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
            start, last = place, parts[number + 1][0]
            if self.fences:
                begin = _BEGIN.match(message, place)
                if begin is None or begin[1] != name:
                    return None
                start, last = begin.end(), _end(name, begin[2])
            end = message.find(last, start) if last else len(message)
            if end < 0:
                return None
            found.setdefault(name, message[start:end])
            place = end + (len(last) if self.fences else 0)
        return found if place == len(message) else None

    def _parts(self, step: str, given: bool) -> tuple[Part, ...]:
        if step not in self.texts:
            raise StudyError(f"medley: the wording {self.id!r} has no text {step}; leave out the condition")
        return _parts(tuple(self.texts.items()), step, given)


@functools.lru_cache(maxsize=64)
def _parts(items: tuple[tuple[str, str], ...], step: str, given: bool) -> tuple[Part, ...]:
    """Return a step's text as alternating words and places, ending in words."""
    texts = dict(items)
    words = {
        "scale": texts.get("scale", ""),
        "claims": texts.get("given_claims" if given else "own_claims", ""),
        "claims_again": texts.get("given_claims_again", "") if given else "",
    }
    pieces = PLACE.split(PLACE.sub(lambda place: words.get(place[1], place[0]), texts[step]))
    return tuple(zip(pieces[::2], [*pieces[1::2], None], strict=True))


def fenced(name: str, text: str) -> str:
    """Return a text as a quotation called ``name``, with a mark of its own that does not occur in it."""
    text = without_surrogates(text)
    digest = sha256_hex(text)
    while digest[:_MARK_LENGTH] in text:
        digest = sha256_hex(digest)
    mark = digest[:_MARK_LENGTH]
    return f"=== BEGIN {name} {mark} ===\n{text}{_end(name, mark)}"


def _end(name: str, mark: str) -> str:
    return f"\n=== END {name} {mark} ==="


# --- calls ------------------------------------------------------------------------------------------------------------
def messages(
    step: str, shown: Instance, condition: str, wording: Wording, step_a: str = ""
) -> tuple[Message, ...]:
    """Return the messages of a step: ``shown`` is the instance as its condition presents it, ``step_a`` that reply."""
    if step == STEP_A:
        return wording.messages(STEP_A, shown, {})
    if step == B_PRIVATE:
        return wording.messages(GENERIC if condition == NUDGED else B_PRIVATE, shown, {"step_a": step_a})
    if condition == MINIMAL:  # the analysts as they wrote, and no word on how to revise
        analysts = [{"analyst": one.model_id, **one.response} for one in shown.analysts]
        return wording.messages(BARE, shown, {"step_a": step_a, "analysts": _lines(analysts)})
    others = masked_analysts(shown, authors=wording.authors)
    consensus = masked_consensus(shown.consensus, wording.authors)
    if wording.authors:
        texts = {"analysts": json.dumps(others, indent=2), "consensus": json.dumps(consensus, indent=2)}
    else:
        texts = {"analysts": _lines(others), "consensus": json.dumps(consensus, ensure_ascii=False)}
    return wording.messages(B_SOCIAL, shown, {"step_a": step_a, **texts})


def _lines(shown: list[dict[str, object]]) -> str:
    return "[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in shown) + "\n]"


async def ask_item(
    item: Instance,
    condition: str,
    mode: str,
    ask: Ask,
    wording: Wording,
    room: int,
) -> None:
    """Ask every step of ``item``; the answers are kept by ``ask``. ``room`` is the model's limit of tokens.

    After a step A that was refused or cut off by the length limit nothing more is asked: it cannot be quoted whole. One
    that cannot be read is quoted as it is.
    """
    shown = presented(item, condition, wording.authors)
    claims = tuple(claim.claim_id for claim in item.claims) or CLAIM_IDS
    step_a = ""
    for step in STEPS:
        words = messages(step, shown, condition, wording, step_a)
        held, tokens = constraint(mode, step, claims), max(room, ANSWER_TOKENS)
        # Replies are long, and nobody reads alternatives to their tokens.
        answer = await ask(step, words, constraint=held, max_tokens=tokens, top_logprobs=0)
        if step == STEP_A:
            step_a = answer.text
            if answer.status is not Status.OK:
                return


@functools.cache
def constraint(mode: str, step: str, claim_ids: tuple[str, ...] = CLAIM_IDS) -> Constraint | None:
    """Return what the answer to ``step`` is held to in ``mode``; raise `StudyError` for an unknown one of either."""
    if mode not in MODES or step not in STEPS:
        raise StudyError(f"medley: no step {step!r} in answer mode {mode!r}; modes are: {', '.join(MODES)}")
    if mode == "text":
        return None
    alone, text = step == STEP_A, {"type": "string"}
    label: dict[str, object] = {"type": "string", "enum": list(LABELS)}
    claim: dict[str, object] = {"claim_id": {"type": "string", "enum": list(claim_ids)}}
    claim |= {**({"claim_text": text} if alone else {}), "confidence": label, "reasoning": text}
    fields: dict[str, object] = {"assessment": text}
    if alone:
        fields |= {
            "overall_confidence": label,
            "difficulty_prediction": {"type": "string", "enum": list(DIFFICULTIES)},
        }
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
    """Return the shipped wording; with the texts of the TOML file ``path`` in place of its own; or that of a folder.

    Raises `StudyError` naming file, key and value.
    """
    if path is not None and path.is_dir():
        return authors_wording(path)
    ours = _wording(shipped("data", "medley", "prompts.toml"), None)
    return ours if path is None else _wording(path, ours)


def _wording(path: Path, base: Wording | None) -> Wording:
    data = read_words(path)
    require_known(str(path), data, ("id", "fences", "system", *_TEXTS))
    fences = data.get("fences", base.fences if base else True)
    if not isinstance(fences, bool):
        raise StudyError(f"{path}: fences = {fences!r} must be true or false")
    texts = dict(base.texts) if base else {}
    for key in (key for key in _TEXTS if key in data):
        where, text = f"{path}: {key}", data[key]
        texts[key] = str(text) if key in _OPTIONAL and text == "" else require_text(where, text)
        needed = _NEEDED.get(key, ())
        more = (
            ("claim_list",) if key.startswith("given_claims") else ("claim_list", *_WORDS) if needed else ()
        )
        named = set(PLACE.findall(texts[key]))
        if not set(needed) <= named <= {*needed, *more}:
            wanted = ", ".join("{{" + name + "}}" for name in needed) or "none"
            raise StudyError(
                f"{where}: places are {', '.join(sorted(named)) or 'none'}; needed: {wanted}; also allowed: "
                f"{', '.join(more) or 'none'}"
            )
    name = require_text(f"{path}: id", data.get("id", f"own:{path.stem}"))
    return Wording(name, texts, system_text(path, data, base.system if base else ""), fences)


REFERENCE, AUTHORS, PACKAGE = Path("reference"), "authors", "medley-bench"
_PROMPTS = Path("src", "tracks", "metacognition", "prompts")
# What the package calls what is filled in.
_NAMES = {
    "vignette": "vignette",
    "step_a_response": "step_a",
    "analyst_outputs": "analysts",
    "jackknifed_consensus": "consensus",
}


def installed() -> Wording:
    """Return the wording of the installed package; StudyError where there is none."""
    try:
        return authors_wording(Path(str(importlib.metadata.distribution(PACKAGE).locate_file(""))))
    except importlib.metadata.PackageNotFoundError:
        raise StudyError(
            f'benchmarks.medley.wording = "reference": the package {PACKAGE} is not installed; install it '
            f'(pip install --no-deps {PACKAGE}), or name a folder that holds it: wording = "FOLDER"'
        ) from None


@functools.lru_cache(maxsize=4)
def authors_wording(folder: Path) -> Wording:
    """Return the wording of a folder that holds the package, or of its ``prompts``; StudyError for another."""
    prompts = folder / _PROMPTS if (folder / _PROMPTS).is_dir() else folder
    steps = {step: _template(prompts / f"step_{step.removeprefix('step_')}.py", step) for step in STEPS}
    return Wording(AUTHORS, steps, fences=False, authors=True)


def _template(path: Path, step: str) -> str:
    """Return a template of the package with its places as this project writes them."""
    try:
        assigned = [each for each in ast.parse(path.read_text("utf-8")).body if isinstance(each, ast.Assign)]
        found = {ast.unparse(each.targets[0]): each.value for each in assigned}
        parts = list(Formatter().parse(str(ast.literal_eval(found["PROMPT_TEMPLATE"]))))
    except (OSError, ValueError, SyntaxError, RecursionError, KeyError):
        raise StudyError(f"{path}: holds no PROMPT_TEMPLATE; give the folder of {PACKAGE} 0.5") from None
    names = [_NAMES.get(name, name) for _, name, _, _ in parts if name is not None]
    if set(names) != set(_NEEDED[step]):
        raise StudyError(
            f"{path}: the places of the template are not those of {PACKAGE} 0.5; give its folder"
        )
    return "".join(words + ("" if name is None else "{{" + _NAMES[name] + "}}") for words, name, *_ in parts)


# --- what a judge is sent ---------------------------------------------------------------------------------------------
@functools.cache  # the shipped file does not change under a running process
def _shipped() -> tuple[Mapping[str, Any], Mapping[str, str]]:
    data = read_toml(shipped("data", "medley", "judge.toml"))
    criteria = {
        f"{own['key']}{n}": text for own in data["dimensions"] for n, text in enumerate(own["criteria"], 1)
    }
    return data, criteria


@functools.cache
def judge_digest() -> str:
    """Return the SHA-256 over all texts: equal digests mean equal words."""
    data, criteria = _shipped()
    return sha256_hex(canonical_json([data["system"], data["text"], data["again"], criteria]))


@functools.cache
def judge_wording() -> Wording:
    """Return the words of a judge, with rubric and form, as a wording of two steps: ``judge`` and ``again``."""
    data, criteria = _shipped()
    rubric = "\n\n".join(
        "\n".join([dimension.replace("_", " "), *(f"{letter}{n}  {criteria[f'{letter}{n}']}" for n in (1, 2, 3))])
        for letter, dimension in DIMENSION_OF.items()
    )  # fmt: skip
    rows = [", ".join(f'"{letter}{n}": <0-3>' for n in (1, 2, 3)) for letter in DIMENSION_OF]
    fixed = {"rubric": rubric, "form": "{" + ",\n ".join(rows) + "}"}
    text = PLACE.sub(lambda place: fixed.get(place[1], place[0]), data["text"])
    texts = {"judge": text, "again": f"{text}\n\n{data['again']}"}
    return Wording("judge", texts, data["system"])
