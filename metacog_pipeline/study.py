"""The study file: TOML in, a validated :class:`Study` out; every error names file, key, value and what is allowed."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import canonical_json
from metacog_pipeline.home import Home
from metacog_pipeline.llm.spec import ModelSpec

Dataset = Literal["published", "corrected", "sample", "custom"]
ASKED = ("models", "judges", "analysts")  # the tables whose rows are models that can be asked
_SECRET_KEYS = ("api_key_env", "base_url", "extra_body")
# Keys of some providers have the form of a variable's name; nobody calls a variable that.
_KEY_LIKE = re.compile(r"sk_|gsk_|hf_|r8_|AIza|(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])\w{20}")


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StudySection(_Section):
    """``[study]``: ``runs`` repeats of everything, ``budget_usd`` the most this home may ever spend."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$")
    home: str | None = Field(default=None, min_length=1)
    runs: int = Field(default=1, ge=1, le=99, strict=True)
    seed: int = Field(default=0, ge=0, lt=2**24, strict=True)
    budget_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False, strict=True)


def _each_once(value: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(value)) != len(value):
        raise ValueError("a name is listed twice")
    return value


class MetaMedQASection(_Section):
    """``[benchmarks.metamedqa]``: which questions, how many, under which system messages.

    ``folder`` holds ``parent.jsonl``, ``edits.jsonl`` and ``fictional.jsonl`` for ``dataset = "custom"``;
    ``wording`` is a TOML file with the exact texts of another study. Both are relative to the study file.
    """

    enabled: bool = True
    limit: int | None = Field(default=None, ge=1, strict=True)
    dataset: Dataset = "published"
    order: Literal["default", "published", "parent"] = "default"
    conditions: Annotated[tuple[str, ...], Field(min_length=1)] = ("baseline",)
    wording: Path | None = None
    folder: Path | None = None
    allow_incomplete: bool = False

    @field_validator("conditions")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _each_once(value)

    @model_validator(mode="after")
    def _custom_needs_folder(self) -> MetaMedQASection:
        if (self.dataset == "custom") != (self.folder is not None):
            raise ValueError('dataset = "custom" and folder = "…" go together: give both or neither')
        return self


class SignalDetectionSection(_Section):
    """``[benchmarks.signaldetection]``: which tasks, how many items of each, under which instructions.

    ``trials`` items per task are drawn by the study's seed, the same for every model, run and condition; a larger
    number only adds. ``dataset = "published"`` draws them from the fetched sources, ``"sample"`` from the sentences
    that come with the package. ``wording`` is a TOML file with the exact texts of another study, relative to this one.
    """

    enabled: bool = False
    dataset: Literal["published", "sample"] = "published"
    tasks: Annotated[tuple[Literal["A", "B", "C"], ...], Field(min_length=1)] = ("A", "B", "C")
    trials: int = Field(default=100, ge=2, le=100_000, strict=True)
    conditions: Annotated[
        tuple[Literal["confidence", "risk_none", "risk_s1", "risk_s2"], ...], Field(min_length=1)
    ] = ("confidence", "risk_none", "risk_s1", "risk_s2")
    wording: Path | None = None
    allow_incomplete: bool = False

    @field_validator("tasks", "conditions")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _each_once(value)


class MedleyGeneratorSection(_Section):
    """``[benchmarks.medley.generator]``: who makes new instances, from which seeds.

    ``seeds`` is a TOML or JSON file, relative to the study file. ``designers`` and ``pool`` name rows of ``[[analysts]]``,
    ``judges`` three rows of ``[[judges]]``: the first write the cases, the second judge them, the third say whether what
    most of the pool thinks is right. With ``allow_incomplete`` the instances are made although somebody has not
    answered everything.
    """

    seeds: Path
    designers: Annotated[tuple[str, ...], Field(min_length=1)]
    pool: Annotated[tuple[str, ...], Field(min_length=8)]
    judges: Annotated[tuple[str, ...], Field(min_length=3, max_length=3)]
    allow_incomplete: bool = False

    @field_validator("designers", "pool", "judges")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _each_once(value)


class MedleySection(_Section):
    """``[benchmarks.medley]``: which instances, under which conditions, scored how and judged by whom.

    ``limit`` draws that many instances by the study's seed. ``variant`` decides between the published paper and its
    authors' package where the two differ. ``judges`` names rows of ``[[judges]]``; without any, the part of the
    score that needs a judge is missing, and shown as missing. ``anonymise`` shows the analysts as Analyst A to H;
    ``order = "seeded"`` shuffles them by instance, alike for every model. ``folder`` holds the files of a data set
    of one's own, ``wording`` is a TOML file with the exact texts of another study; both relative to the study file.
    With ``generator`` the instances are made anew and ``dataset = "custom"`` means these.
    """

    enabled: bool = False
    dataset: Literal["published", "sample", "custom"] = "published"
    limit: int | None = Field(default=None, ge=1, strict=True)
    conditions: Annotated[tuple[Literal["normal", "adversarial", "stripped"], ...], Field(min_length=1)] = (
        "normal",
    )
    variant: Literal["reference", "paper"] = "reference"
    judges: tuple[str, ...] = ()
    anonymise: bool = True
    order: Literal["file", "seeded"] = "file"
    wording: Path | None = None
    folder: Path | None = None
    allow_incomplete: bool = False
    generator: MedleyGeneratorSection | None = None

    @field_validator("conditions", "judges")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _each_once(value)

    @model_validator(mode="after")
    def _custom_needs_folder(self) -> MedleySection:
        if self.generator is not None:
            if self.dataset != "custom" or self.folder is not None:
                raise ValueError(
                    'generator makes a data set of its own: set dataset = "custom" and leave folder out, or remove '
                    "[benchmarks.medley.generator]"
                )
        elif (self.dataset == "custom") != (self.folder is not None):
            raise ValueError('dataset = "custom" and folder = "…" go together: give both or neither')
        return self


class MetaCogBenchSection(_Section):
    """``[benchmarks.metacogbench]``: which set of tasks, under which conditions.

    ``conditions``: ``free`` asks all tiers; ``json`` and ``json_notes`` ask the ecological-validity tasks again in another
    format, ``two_turn`` the predictions before the question is seen. ``limit`` draws that many tasks of every tier by
    the study's seed. ``wording`` is a TOML file with the exact texts of another study, ``lexicon`` a file or folder with
    another list of cues; both relative to the study file. ``judges`` names rows of ``[[judges]]`` that give their own
    verdict on every reply, ``"self"`` the model that gave it; no score rests on them. Published results are means of
    three runs at temperature 0.7.
    """

    enabled: bool = False
    set: Literal["metacog147", "metacog41"] = "metacog147"
    conditions: Annotated[
        tuple[Literal["free", "json", "json_notes", "two_turn"], ...], Field(min_length=1)
    ] = ("free",)
    limit: int | None = Field(default=None, ge=1, strict=True)
    wording: Path | None = None
    lexicon: Path | None = None
    judges: tuple[str, ...] = ()
    allow_incomplete: bool = False

    @field_validator("conditions", "judges")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _each_once(value)


class SelfKnowledgeSection(_Section):
    """``[benchmarks.selfknowledge]``: which questions, in which languages, read by which rules.

    ``limit`` draws that many questions by the study's seed; a larger number only adds. ``split`` is the part of the
    data set, where its source has parts; None takes the one that published results are about. ``languages`` are asked
    as far as the data set has them; ``idk`` asks again, in English, with leave to abstain. ``matching`` says when an
    answer is right and ``yes_no`` what counts as a yes: both are applied to kept answers, so changing them asks nothing
    again. ``decoding = "greedy"`` sends the temperature of the model's row, ``"checkpoint"`` none, so that whatever
    ships with the model applies. ``folder`` holds published files that were got elsewhere, ``wording`` is a TOML file
    with the exact texts of another study; both relative to the study file.
    """

    enabled: bool = False
    dataset: Literal[
        "sample",
        "trivia_qa",
        "freebase_qa",
        "nq_open",
        "web_questions",
        "mkqa",
        "fictional_qa",
        "efficientqa",
        "trivia_sample",
        "popqa",
        "selfaware",
    ] = "sample"
    split: Literal["train", "validation", "test", "all"] | None = None
    languages: Annotated[tuple[Literal["en", "zh", "ko", "es"], ...], Field(min_length=1)] = ("en",)
    idk: bool = True
    limit: int | None = Field(default=None, ge=1, strict=True)
    matching: Literal["inclusion", "normalized_inclusion", "exact_match", "token_boundary"] = "inclusion"
    yes_no: Literal["default", "reference", "strict"] = "default"
    decoding: Literal["greedy", "checkpoint"] = "greedy"
    wording: Path | None = None
    folder: Path | None = None
    allow_incomplete: bool = False

    @field_validator("languages")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return _each_once(value)

    @model_validator(mode="after")
    def _languages_there_are(self) -> SelfKnowledgeSection:
        if self.dataset not in ("sample", "mkqa") and self.languages != ("en",):
            raise ValueError(
                f'dataset = "{self.dataset}" has English questions only: set languages = ["en"], or take "sample" or "mkqa"'
            )
        if "idk" in self.model_fields_set and self.idk and "en" not in self.languages:
            raise ValueError('idk is worded in English only: add "en" to languages or set idk = false')
        return self

    @property
    def asks_idk(self) -> bool:
        """Whether the question with leave to abstain is asked: it stands beside the English ones."""
        return self.idk and "en" in self.languages


class TrainingSection(_Section):
    """``[training]``: teach a model to know what it knows, by an evolution strategy (needs the extra ``train``).

    Without ``model`` the toy world of invented people is trained, a demonstration of a minute. ``model`` is the folder of a
    causal language model in the layout of Hugging Face, ``questions`` and ``held_out`` files of questions (a study's
    ``items/selfknowledge.parquet`` or JSON Lines), or ``"sample"``; all relative to the study file. Train on other
    questions than the study measures. What is left out of ``sigma`` to ``schedule`` is as published, or for the toy as
    fits its size; the seed is the study's.
    """

    model: Path | None = None
    questions: str = Field(default="sample", min_length=1)
    held_out: str | None = Field(default=None, min_length=1)
    held_out_share: float = Field(default=0.3, gt=0, lt=1)
    reward: str = Field(default="joint", min_length=1)
    sigma: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    alpha: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    population: int | None = Field(default=None, ge=2, strict=True)
    batch: int | None = Field(default=None, ge=1, strict=True)
    generations: int | None = Field(default=None, ge=0, strict=True)
    antithetic: bool | None = None
    shaping: Literal["zscore", "ranks"] | None = None
    schedule: Literal["constant", "linear", "cosine"] | None = None
    language: Literal["en", "zh", "ko", "es"] = "en"
    matching: Literal["inclusion", "normalized_inclusion", "exact_match", "token_boundary"] = "inclusion"
    yes_no: Literal["default", "reference", "strict"] = "default"
    meta: Literal["text", "threshold"] = "text"
    meta_chat: bool = True
    max_tokens: int = Field(default=32, ge=1, strict=True)
    rows: int = Field(default=64, ge=1, strict=True)
    device: str = Field(default="cpu", pattern=r"^(?:cpu|auto|cuda(?::[0-9]{1,2})?)$")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    threads: int = Field(default=1, ge=1, strict=True)
    workers: int = Field(default=1, ge=1, le=1024, strict=True)
    engine: Literal["process", "ray"] = "process"
    checkpoint_every: int = Field(default=60, ge=0, strict=True)
    evaluate_every: int = Field(default=10, ge=0, strict=True)


class Benchmarks(_Section):
    """``[benchmarks.*]``."""

    metamedqa: MetaMedQASection = Field(default_factory=MetaMedQASection)
    signaldetection: SignalDetectionSection = Field(default_factory=SignalDetectionSection)
    medley: MedleySection = Field(default_factory=MedleySection)
    metacogbench: MetaCogBenchSection = Field(default_factory=MetaCogBenchSection)
    selfknowledge: SelfKnowledgeSection = Field(default_factory=SelfKnowledgeSection)

    def enabled(self) -> tuple[str, ...]:
        """Return the names of the benchmarks that are switched on."""
        return tuple(name for name in type(self).model_fields if getattr(self, name).enabled)


class Study(_Section):
    """A validated study. ``path`` is the file it came from; relative paths in it start there.

    ``judges`` are models that grade answers, ``analysts`` models that help to make items; neither are measured.
    """

    study: StudySection
    models: tuple[ModelSpec, ...]
    judges: tuple[ModelSpec, ...] = ()
    analysts: tuple[ModelSpec, ...] = ()
    benchmarks: Benchmarks = Field(default_factory=Benchmarks)
    training: TrainingSection | None = None
    path: Path

    @property
    def home(self) -> Home:
        """The study's folder, absolute."""
        chosen = self.study.home or f"{self.study.name}-home"
        return Home((self.path.parent / Path(chosen).expanduser()).resolve())

    @property
    def runs(self) -> range:
        """Run numbers, from 1."""
        return range(1, self.study.runs + 1)

    def model(self, name: str) -> ModelSpec:
        """Return the model called ``name``.

        Raises
        ------
        StudyError
            If the study has no such model.
        """
        for spec in self.models:
            if spec.name == name:
                return spec
        names = [spec.name for spec in self.models]
        raise StudyError(
            f'{self.path.name}: no model "{name}"{_suggest(name, names)}; it has: {", ".join(names)}'
        )


def load_study(path: Path) -> Study:
    """Read and validate the study file at ``path``.

    Raises
    ------
    StudyError
        With file, key, value and what is allowed, on one line.
    """
    data = _read(path)
    shown = path.name
    models = data.get("models", [])
    if not isinstance(models, list) or not models:
        raise StudyError(
            f"{shown}: models: the study has no model; add at least one [[models]] table with a name"
        )
    _refuse_same_names(shown, data)
    placed = _with_folders(data, path.resolve().parent)
    try:
        study = Study.model_validate({**placed, "path": path.resolve()})
    except ValidationError as error:
        raise StudyError(_explain(shown, data, error)) from None
    _check_home(shown, study)
    for key, specs in (("models", study.models), ("judges", study.judges), ("analysts", study.analysts)):
        for index, spec in enumerate(specs):
            _check_model(f'{shown}: {key}[{index}] "{spec.name}"', spec)
    _check_judges(shown, study)
    _check_verdicts(shown, study)
    _check_generator(shown, study)
    if not study.benchmarks.enabled():
        raise StudyError(
            f"{shown}: benchmarks: none is enabled; set enabled = true in one of {_benchmark_names()}"
        )
    return study


def _read(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise StudyError(f"{path}: no such study file; create one or give another path") from None
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, not TOML, or a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise StudyError(f"{path}: not a readable TOML study file: {reason}") from None
    except RecursionError:
        raise StudyError(f"{path}: not a readable TOML study file: nested too deeply") from None
    if "path" in data:  # a field of the Study, but not a key of the file
        raise StudyError(f"{path.name}: path: unknown key; allowed: {', '.join(_allowed(('path',)))}")
    return data


def _with_folders(data: Mapping[str, Any], beside: Path) -> dict[str, Any]:
    """Return the study with the folders of local models taken from where its file is."""

    def placed(row: Any) -> Any:
        folder = row.get("model") if isinstance(row, dict) and row.get("provider") == "transformers" else None
        return {**row, "model": str(beside / folder)} if isinstance(folder, str) and folder else row

    tables = {key: data[key] for key in ("models", "judges", "analysts") if isinstance(data.get(key), list)}
    return {**data, **{key: [placed(row) for row in rows] for key, rows in tables.items()}}


def _check_home(shown: str, study: Study) -> None:
    chosen = study.study.home or ""
    try:
        usable = chosen.isprintable()
        study.home.path.exists()
        reason = "it holds characters that cannot be printed"
    except (OSError, ValueError, RuntimeError) as error:  # too long, a NUL, or ~ of a user who is not there
        usable, reason = False, getattr(error, "strerror", None) or str(error)
    if not usable:
        raise StudyError(f"{shown}: study.home = {_short(chosen)}: {reason}; give the path of a folder")


def _refuse_same_names(shown: str, data: Mapping[str, object]) -> None:
    """Names of all who are asked are one list: what a call cost is kept under the name of who was asked."""
    seen: dict[str, str] = {}
    for key in ASKED:
        tables = data.get(key, [])
        for index, table in enumerate(tables if isinstance(tables, list) else []):
            name = table.get("name") if isinstance(table, dict) else None
            if not isinstance(name, str):
                continue
            place = f"{key}[{index}]"
            if (first := seen.setdefault(name.casefold(), place)) != place:
                raise StudyError(
                    f'{shown}: {place}.name = "{name}" repeats {first}.name; '
                    "names are compared ignoring case, choose another"
                )


def _check_judges(shown: str, study: Study) -> None:
    _refuse_no_opinion(shown, study)
    known = {spec.name: spec for spec in study.judges}
    for name in study.benchmarks.medley.judges:
        spec = known.get(name)
        if spec is None:
            listed = ", ".join(known) or "none"
            raise StudyError(
                f'{shown}: benchmarks.medley.judges: no judge "{name}"{_suggest(name, list(known))}; '
                f"[[judges]] has: {listed}"
            )
        if spec.family is None:
            raise StudyError(
                f'{shown}: judges "{name}": family is missing; name who made the model, e.g. family = "openai", '
                "so that it judges none of its kin"
            )
    if study.benchmarks.medley.judges:
        for spec in study.models:
            if spec.family is None:
                raise StudyError(
                    f'{shown}: models "{spec.name}": family is missing; judges are asked, and none may judge its own '
                    'family: name who made the model, e.g. family = "openai"'
                )


def _check_verdicts(shown: str, study: Study) -> None:
    """Whoever gives a verdict on replies must be listed; ``self`` is the model that replied, no row may be called so."""
    known = [spec.name for spec in study.judges]
    for name in study.benchmarks.metacogbench.judges:
        where = f"{shown}: benchmarks.metacogbench.judges"
        if name == "self" and name in known:
            raise StudyError(
                f'{where}: "self" means the judged model; give the row "self" of [[judges]] another name'
            )
        if name != "self" and name not in known:
            raise StudyError(
                f'{where}: no judge "{name}"{_suggest(name, [*known, "self"])}; [[judges]] has: '
                f'{", ".join(known) or "none"}; "self" is the judged model itself'
            )


def _check_generator(shown: str, study: Study) -> None:
    """Whoever makes instances must be listed, be able to answer, and have one opinion and one family."""
    made = study.benchmarks.medley.generator
    if made is None:
        return
    where = "benchmarks.medley.generator"
    for key, table, names in (
        ("designers", "analysts", made.designers),
        ("pool", "analysts", made.pool),
        ("judges", "judges", made.judges),
    ):
        known = {spec.name: spec for spec in getattr(study, table)}
        asked: dict[str, str] = {}
        for name in names:
            spec = known.get(name)
            if spec is None:
                raise StudyError(
                    f'{shown}: {where}.{key}: no row "{name}"{_suggest(name, list(known))}; '
                    f"[[{table}]] has: {', '.join(known) or 'none'}"
                )
            if spec.provider in ("replay", "simulated"):
                raise StudyError(
                    f'{shown}: {where}.{key}: "{name}" has provider = "{spec.provider}", which knows no new cases; name '
                    'a model that can be asked, or take dataset = "sample"'
                )
            if key == "pool" and spec.family is None:
                raise StudyError(
                    f'{shown}: {table} "{name}": family is missing; name who made the model, e.g. family = "openai", '
                    "so that no panel is of one family"
                )
            if (first := asked.setdefault(canonical_json(spec.identity_fields()), name)) != name:
                raise StudyError(
                    f'{shown}: {where}.{key}: "{name}" asks the same model as "{first}", so that one opinion would count '
                    "twice; remove one"
                )


def _refuse_no_opinion(shown: str, study: Study) -> None:
    """A judge must be somebody who can be asked, be there once, and be of one family whether it judges or is judged."""
    asked: dict[str, str] = {}
    for index, spec in enumerate(study.judges):
        where = f'{shown}: judges[{index}] "{spec.name}"'
        if spec.provider == "replay":
            raise StudyError(f'{where}: provider = "replay" never answers; name a provider that can be asked')
        same = canonical_json(spec.identity_fields())
        if (first := asked.setdefault(same, spec.name)) != spec.name:
            raise StudyError(
                f'{where}: asks the same model as judge "{first}", so that one opinion would count twice; remove one'
            )
        if spec.provider == "simulated" or spec.family is None:
            continue
        for model in study.models:
            if model.family not in (None, spec.family) and model.identity_fields() == spec.identity_fields():
                raise StudyError(
                    f'{where}: family = "{spec.family}", but models "{model.name}", which is the same model, says '
                    f'"{model.family}"; give both the same'
                )


def _check_model(where: str, spec: ModelSpec) -> None:
    if spec.provider in ("openai", "anthropic", "gemini") and not spec.model:
        raise StudyError(f'{where}: model is missing; give the model id the provider knows, e.g. model = "…"')
    if spec.provider == "transformers" and not spec.model:
        raise StudyError(
            f'{where}: model is missing; give the folder of the model, e.g. model = "models/mine"'
        )
    if spec.api_key_env is not None and _KEY_LIKE.match(spec.api_key_env):
        raise StudyError(
            f"{where}: api_key_env looks like a key itself; give the NAME of the environment variable that holds it"
        )
    if spec.base_url is not None:
        parts = _address_parts(spec.base_url)
        if parts is None:
            raise StudyError(f"{where}: base_url is not an http(s) address; e.g. https://host/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise StudyError(
                f"{where}: base_url must not carry a user, password, query or fragment; "
                "put the key in an environment variable and name it in api_key_env"
            )
    for key in ("messages", "model", "stream", "contents"):
        if key in spec.extra_body:
            raise StudyError(f"{where}: extra_body.{key} is set by the pipeline itself; remove it")
    try:
        canonical_json(spec.extra_body)
    except (RecursionError, ValueError):
        raise StudyError(f"{where}: extra_body is nested too deeply; no provider reads that") from None


def _address_parts(text: str) -> SplitResult | None:
    """Return the parts of an http(s) address, ``None`` for any other text."""
    if not text.isprintable() or " " in text:
        return None
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    return parts if parts.scheme in ("http", "https") and parts.hostname and port != 0 else None


def _explain(shown: str, data: Mapping[str, Any], error: ValidationError) -> str:
    problems = error.errors(include_url=False)
    first = problems[0]
    key = _key(first["loc"])
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    if first["type"] == "extra_forbidden":
        allowed = _allowed(first["loc"])
        return f"{shown}: {key}: unknown key{_suggest(str(first['loc'][-1]), allowed)}; allowed: {', '.join(allowed)}{more}"
    if first["type"] == "missing":
        return f"{shown}: {key}: missing; it is required{more}"
    value = "" if any(part in _SECRET_KEYS for part in first["loc"]) else f" = {_short(first.get('input'))}"
    return f"{shown}: {key}{value}: {_allowed_values(first)}{more}"


def _allowed_values(problem: Mapping[str, Any]) -> str:
    if problem["loc"][-1:] == ("api_key_env",):
        return (
            "not the name of an environment variable; give the NAME that holds the key, never the key itself"
        )
    if problem["loc"][-1:] == ("name",) and problem["loc"][0] in ASKED:
        return "a model name must match [a-z0-9][a-z0-9._-]{0,63}: lower-case letters, digits, dot, underscore, hyphen"
    text = str(problem["msg"])
    return text.removeprefix("Value error, ")


def _key(location: Iterable[str | int]) -> str:
    key = ""
    for part in location:
        key += f"[{part}]" if isinstance(part, int) else f".{part}" if key else str(part)
    return key


def _allowed(location: tuple[str | int, ...]) -> list[str]:
    model: Any = Study
    for part in location[:-1]:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation
        arguments = [a for a in getattr(annotation, "__args__", ()) if isinstance(a, type)]
        model = arguments[0] if arguments else annotation
    return [name for name in model.model_fields if name != "path"]


def _suggest(word: str, allowed: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, allowed, n=1, cutoff=0.5)
    return f' (did you mean "{close[0]}"?)' if close else ""


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _benchmark_names() -> str:
    return ", ".join(f"[benchmarks.{name}]" for name in Benchmarks.model_fields)
