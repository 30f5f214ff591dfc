"""The words the cue scorers look for, read from data: cues with categories, scope rules, plain keywords.

A lexicon is one file (TOML or JSON) or a folder of them. Sections ``caution``, ``pushback``, ``cave``, ``refusal``,
``insufficiency`` and ``declining`` are lists of cues; ``scope`` holds the rules of negation, dismissal, hypothesis and
attribution;
``literal`` the plain keywords of the literal modes; ``macros`` names parts of regexes that are written ``<name>`` inside
others. A study's own file replaces the sections it has; with ``extends = true`` its cues are added to the shipped ones
and those of equal ``id`` replace them. Adding a cue needs no code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.examples import can_match
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.patterns import BadPattern, compiled, taken
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import MOST_TOML, canonical_json, read_toml, read_within, sha256_hex, shipped
from metacog_pipeline.study.allowed import not_toml

SECTIONS = ("caution", "pushback", "cave", "refusal", "insufficiency", "declining")
_STRENGTHS = ("strong", "weak", "soft")
_MACRO = re.compile(r"(?<!\(\?)(?<!\(\?P)<([a-z][a-z0-9_]*)>")
_MACRO_DEPTH = 4
Compile = Callable[[str], re.Pattern[str]]


@dataclass(frozen=True, slots=True)
class Cue:
    """One cue.

    ``strength`` is strong or weak (caution, pushback), strong or soft (cave). ``stop`` are collocations that cancel it
    where they overlap. ``self_negated``: the cue carries its own negation. ``limited``: what follows a strong cave cue
    may turn it into a soft one. ``family``: the cue stands for many words, and each of them counts by itself.
    """

    id: str
    category: str
    regex: re.Pattern[str]
    strength: str = "strong"
    stop: tuple[re.Pattern[str], ...] = ()
    suppressed_by: tuple[str, ...] = ()
    self_negated: bool = False
    in_v1: bool = False
    limited: bool = True
    family: bool = False


_FLAGS = ("self_negated", "in_v1", "limited", "family")
_CUE_KEYS = frozenset((*Cue.__dataclass_fields__, "weight", "note", "off"))


@dataclass(frozen=True, slots=True)
class Scope:
    """Rules that decide whether a match is meant; every field is data."""

    negators: re.Pattern[str]
    negation_window: int
    exceptions: re.Pattern[str]
    distancing: re.Pattern[str]
    breaks: re.Pattern[str]
    dismissed_after: re.Pattern[str]
    dismissed_before: re.Pattern[str]
    denied_before: re.Pattern[str]
    denied_after: re.Pattern[str]
    dismissible: frozenset[str]
    unnegated_categories: frozenset[str]
    hypothetical: re.Pattern[str]
    counterfactual: re.Pattern[str]
    hypothetical_after: re.Pattern[str]
    conditional_warning: re.Pattern[str]
    attribution: re.Pattern[str]
    attribution_to_a_claim: re.Pattern[str]
    limited_complement: re.Pattern[str]
    complement: re.Pattern[str]
    complement_categories: frozenset[str]


# The data's names of rules that a scope calls otherwise.
_GIVEN_AS = {
    "negation_window": "negation_window_tokens",
    "exceptions": "negation_exceptions",
    "breaks": "clause_breaks",
    "dismissible": "dismissible_categories",
}


@dataclass(frozen=True)
class Lexicon:
    """Everything the cue scorers need. ``digest`` identifies its content."""

    cues: Mapping[str, tuple[Cue, ...]]
    scope: Scope
    literal: Mapping[str, tuple[str, ...]]
    digest: str

    def __hash__(self) -> int:
        return hash(self.digest)


@cache
def shipped_lexicon() -> Lexicon:
    """Return the lexicon that ships with the package."""
    return load_lexicon()


@cache
def shipped_digest() -> str:
    """Return the digest of the shipped lexicon; nothing is compiled: most processes of a run read no reply."""
    return _digest(_shipped())


def _folder() -> Path:
    return shipped("data", "metacogbench", "lexicon")


@cache
def _shipped() -> dict[str, Any]:
    return _merged({}, _read(_folder()), _folder())


def _digest(data: Mapping[str, Any]) -> str:
    return sha256_hex(canonical_json(data))


def load_lexicon(own: Path | None = None) -> Lexicon:
    """Read the shipped lexicon, with a study's own file or folder over it.

    StudyError in one line, naming file, cue and reason: not readable, an unknown key, a regex that does not compile or
    could run away, a cue without id or regex, an id twice.
    """
    path = own or _folder()
    data = _shipped() if own is None else _merged(_shipped(), _read(own), own)
    made_of = taken if own is None else compiled
    macros = {str(name): str(text) for name, text in data.get("macros", {}).items()}
    cues = {name: _cues(data.get(name, []), name, macros, path, made_of) for name in SECTIONS}
    if own is not None:
        _require_examples(cues, own)
    try:
        scope = _scope(data.get("scope", {}), macros, made_of)
    except (BadPattern, KeyError, TypeError, ValueError) as problem:
        raise StudyError(f"scope rules of the lexicon {path}: {problem}") from problem
    literal = {str(k): tuple(map(str, v)) for k, v in data.get("literal", {}).items()}
    return Lexicon(cues, scope, literal, _digest(data))


def _require_examples(cues: Mapping[str, tuple[Cue, ...]], path: Path) -> None:
    """Raise StudyError for a study's own cue that no text is found for: it would count nothing."""
    known = {each["id"] for name in SECTIONS for each in _shipped()[name] if not each.get("off")}
    for section, found in cues.items():
        for cue in found:
            if cue.id not in known and not can_match(cue.regex):
                raise StudyError(
                    f"cue {cue.id!r} of section {section!r} in the lexicon {path}: no text was found that its "
                    "regex matches; correct the regex, or remove the cue"
                )


def expand(pattern: str, macros: Mapping[str, str]) -> str:
    """Return a regex with its ``<name>`` parts written out; an unknown name is `BadPattern`."""

    def written(found: re.Match[str]) -> str:
        if found[1] not in macros:
            raise BadPattern(f"regex {pattern[:80]!r} uses <{found[1]}>, which no macro defines")
        return f"(?:{macros[found[1]]})"

    for _ in range(_MACRO_DEPTH):
        if _MACRO.search(pattern) is None:
            break
        pattern = _MACRO.sub(written, pattern)
    return pattern


def _read(path: Path) -> dict[str, Any]:
    """Read one file, or all files of a folder in order of their names."""
    if path.is_dir():
        data: dict[str, Any] = {}
        for each in sorted((*path.glob("*.toml"), *path.glob("*.json"))):
            data = _merged(data, _read(each), each)
        return data
    try:
        found = json.loads(read_within(path, MOST_TOML)) if path.suffix == ".json" else read_toml(path)
    except OSError as problem:
        raise StudyError(f"lexicon {path} cannot be read: {problem.strerror}; check the path") from None
    except json.JSONDecodeError as problem:
        raise StudyError(
            f"lexicon {path} cannot be read: line {problem.lineno} is no JSON; mend it"
        ) from None
    except (ValueError, RecursionError) as problem:
        said = not_toml(problem) if isinstance(problem, ValueError) else "nested too deeply"
        raise StudyError(f"lexicon {path} cannot be read: {said}") from None
    if not isinstance(found, dict):
        raise StudyError(f"lexicon {path} is no table of sections; see data/metacogbench/lexicon")
    return found


def _merged(base: dict[str, Any], own: dict[str, Any], path: Path) -> dict[str, Any]:
    merged = dict(base)
    for name, value in own.items():
        if name in SECTIONS:
            if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
                raise StudyError(f"section {name!r} of the lexicon {path} is no list of cues")
            replaced = {each.get("id") for each in value}
            kept = [each for each in base.get(name, []) if each.get("id") not in replaced]
            merged[name] = [*kept, *value] if own.get("extends") else value
        elif name in ("scope", "macros", "literal"):
            if not isinstance(value, dict):
                raise StudyError(f"section {name!r} of the lexicon {path} is no table")
            merged[name] = {**base.get(name, {}), **value}
        elif name not in ("extends", "version", "note", "scope_rules"):
            raise StudyError(f"unknown section {name!r} in the lexicon {path}; known: {', '.join(SECTIONS)}")
    return merged


def _cues(
    records: list[dict[str, Any]],
    section: str,
    macros: Mapping[str, str],
    path: Path,
    made_of: Compile = compiled,
) -> tuple[Cue, ...]:
    made: dict[str, Cue] = {}
    inside = f"of section {section!r} in the lexicon {path}"
    for place, record in enumerate(records, 1):
        name = record.get("id")
        where = f"cue {name!r} {inside}"
        if not isinstance(name, str) or not name or not isinstance(record.get("regex"), str):
            raise StudyError(f"cue {place} {inside} needs an id and a regex")
        if unknown := sorted(set(record) - _CUE_KEYS):
            raise StudyError(f"{where} has unknown key {unknown[0]!r}; known: {', '.join(sorted(_CUE_KEYS))}")
        if name in made:
            raise StudyError(f"{where} stands there twice")
        if record.get("off"):
            continue
        try:
            made[name] = _cue(record, macros, made_of)
        except (BadPattern, ValueError, TypeError) as problem:
            raise StudyError(f"{where}: {problem}") from problem
    return tuple(made.values())


def _cue(record: Mapping[str, Any], macros: Mapping[str, str], made_of: Compile) -> Cue:
    strength = record.get("weight", record.get("strength", "strong"))
    if strength not in _STRENGTHS:
        raise ValueError(f"strength {strength!r} is not one of {', '.join(_STRENGTHS)}")
    name = str(record["id"])
    return Cue(
        id=name,
        category=str(record.get("category", name.split(".", maxsplit=1)[0])),
        regex=made_of(expand(record["regex"], macros)),
        strength=strength,
        stop=tuple(made_of(expand(each, macros)) for each in record.get("stop", ())),
        suppressed_by=tuple(record.get("suppressed_by", ())),
        **{flag: bool(record[flag]) for flag in _FLAGS if flag in record},
    )


def _scope(data: Mapping[str, Any], macros: Mapping[str, str], made_of: Compile = compiled) -> Scope:
    """Return the rules: a number of words, sets of categories, and lists of regexes, each list as one."""
    made: dict[str, Any] = {}
    for rule in Scope.__dataclass_fields__:
        name = _GIVEN_AS.get(rule, rule)
        parts = data[name]
        if rule == "negation_window":
            made[rule] = int(parts)
        elif name.endswith("_categories"):
            made[rule] = frozenset(parts)
        elif not isinstance(parts, list) or not parts:
            raise ValueError(f"{name!r} is no list of regexes")
        else:
            made[rule] = made_of("|".join(f"(?:{expand(part, macros)})" for part in parts))
    return Scope(**made)
