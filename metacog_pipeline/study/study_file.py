"""The study file: TOML in, a validated :class:`Study` out; every error names file, key, value and what is allowed."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from pydantic import Field, SerializeAsAny, ValidationError

from metacog_pipeline import registry
from metacog_pipeline.deploy import DeploySection
from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.files import canonical_json, read_toml
from metacog_pipeline.home import Home
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.study.allowed import as_written, explain, key_of, not_finite, not_toml
from metacog_pipeline.study.sections import Section, Settings, TrainingSection

ASKED = ("models", "judges", "authors")  # the tables whose rows are models that can be asked
# Keys of some providers have the form of a variable's name; nobody calls a variable that.
_KEY_LIKE = re.compile(r"sk_|gsk_|hf_|r8_|AIza|(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])\w{20}")
#: Ends of a whole address that was copied.
_OPERATIONS = ("/chat/completions", "/responses", "/messages", ":generateContent")
MOST_BUDGET = 10**9  # dollars; a larger number is a slip
_OWNER = r"^(?:team:[A-Za-z0-9_ -]{1,80}|[^@\s]{1,64}@[A-Za-z0-9.-]+\.[A-Za-z]{2,})$"

_OWNED = '"team:NAME" or a mail address'


class StudySection(Section):
    """``[study]``: ``runs`` repeats of everything, ``budget_usd`` the most this home may ever spend.

    ``owners`` are shown on every asset in the UI: mail addresses, or teams as ``team:name``.
    """

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$",
        description='text in "quotes" of at most 100 letters, digits, spaces, dots, underscores and hyphens, '
        "the first a letter or digit",
    )
    home: str | None = Field(default=None, min_length=1)
    runs: int = Field(default=1, ge=1, le=99, strict=True)
    seed: int = Field(default=0, ge=0, lt=2**24, strict=True)
    budget_usd: float | None = Field(default=None, ge=0, le=MOST_BUDGET, allow_inf_nan=False, strict=True)
    owners: tuple[Annotated[str, Field(pattern=_OWNER, description=_OWNED)], ...] = ("team:metacog",)


@functools.lru_cache(maxsize=64)  # asked for with every partition, and looks at every folder on the way
def _home_at(folder: Path) -> Home:
    return Home(folder.resolve())


class Study(Section):
    """A validated study. ``path`` is the file it came from; relative paths in it start there.

    ``judges`` are models that grade answers, ``authors`` models that help to make items; neither are measured.
    ``benchmarks`` are the tables ``[benchmarks.NAME]`` in the order of the file, which is the order of asking.
    """

    study: StudySection
    models: tuple[ModelSpec, ...]
    judges: tuple[ModelSpec, ...] = ()
    authors: tuple[ModelSpec, ...] = ()
    benchmarks: dict[str, SerializeAsAny[Settings]]
    training: TrainingSection | None = None
    deploy: DeploySection = DeploySection()
    path: Path

    @property
    def home(self) -> Home:
        """The study's folder, absolute."""
        folder = _folder(self.path, self.study.home or f"{self.study.name}-home")
        return _home_at(folder if folder.is_absolute() else folder.resolve())

    def prepare(self) -> None:
        """Make the home ready to be written in; raises as `preparing.prepare`."""
        from metacog_pipeline import preparing  # late: whoever only reads a board needs none of it

        preparing.prepare(self.home, self.deploy, self.variables)

    @functools.cached_property
    def variables(self) -> tuple[str, ...]:
        """The environment variables a process needs that works for this study."""
        keys = (each.api_key_env for each in self.askable)
        named = [self.deploy.dagster_storage, self.deploy.broker, *keys]
        return tuple(dict.fromkeys(["METACOG_STUDY", "DAGSTER_HOME", *filter(None, named)]))

    @property
    def runs(self) -> range:
        """Run numbers, from 1."""
        return range(1, self.study.runs + 1)

    @property
    def askable(self) -> tuple[ModelSpec, ...]:
        """Everybody who can be asked: models, judges and authors. Their names differ."""
        return (*self.models, *self.judges, *self.authors)

    @property
    def enabled(self) -> tuple[str, ...]:
        """The names of the benchmarks that run: those whose table stands in the file without ``enabled = false``."""
        return tuple(name for name, settings in self.benchmarks.items() if settings.enabled)

    def model(self, name: str) -> ModelSpec:
        """Return the model called ``name``.

        Raises ``StudyError`` if the study has no such model.
        """
        for spec in self.models:
            if spec.name == name:
                return spec
        names = [spec.name for spec in self.models]
        parts = [part.strip() for part in name.split(",")]
        near = "; name one, and repeat the option for several" if len(parts) > 1 else suggestion(name, names)
        raise StudyError(f'{self.path.name}: no model "{name}"{near}; it has: {", ".join(names)}')


@functools.lru_cache(maxsize=64)  # asked for with every path of every partition
def _folder(path: Path, chosen: str) -> Path:
    return path.parent / Path(chosen).expanduser()


def load_study(path: Path) -> Study:
    """Read and validate the study file at ``path``.

    Raises ``StudyError`` with file, key, value and what is allowed, on one line.
    """
    data = _read(path)
    shown = path.name
    models = data.get("models", [])
    if isinstance(models, dict):
        raise StudyError(
            f"{shown}: models: a list of tables; write [[models]], in two brackets, above each model"
        )
    if not isinstance(models, list) or not models:
        raise StudyError(
            f"{shown}: models: the study has no model; add at least one [[models]] table with a name"
        )
    if "analysts" in data:
        raise StudyError(f"{shown}: [[analysts]] is now [[authors]]; rename its tables")
    _refuse_same_names(shown, data)
    placed = _with_folders(data, path.resolve().parent)
    tables = _benchmarks(shown, data)
    try:
        study = Study.model_validate({**placed, "benchmarks": tables, "path": path.resolve()})
    except ValidationError as error:
        raise StudyError(explain(shown, error, Study)) from None
    _check_home(shown, study)
    for problem in study.deploy.problems():
        raise StudyError(f"{shown}: {problem}")
    for key in ASKED:
        for index, spec in enumerate(getattr(study, key)):
            _check_model(f'{shown}: {key}[{index}] "{spec.name}"', spec)
    _refuse_no_opinion(shown, study)
    for settings in study.benchmarks.values():
        for problem in settings.check(study):
            raise StudyError(f"{shown}: {problem}")
    if not study.enabled:
        raise StudyError(
            f"{shown}: benchmarks: none is named; add a table of one of {_benchmark_names()}, without enabled = false"
        )
    return study


def _benchmarks(shown: str, data: Mapping[str, Any]) -> dict[str, Settings]:
    """Return the tables of the benchmarks, each validated by the benchmark's own settings."""
    tables = data.get("benchmarks", {})
    if not isinstance(tables, dict):
        raise StudyError(
            f"{shown}: benchmarks = {as_written(tables)}: give tables, for example [benchmarks.NAME]"
        )
    found: dict[str, Settings] = {}
    for name, table in tables.items():
        try:
            settings: type[Settings] = registry.part(name, "Settings")
        except StudyError as error:
            raise StudyError(f"{shown}: benchmarks.{name}: {error}") from None
        try:
            found[name] = settings.model_validate(table)
        except ValidationError as error:
            raise StudyError(explain(shown, error, settings, ("benchmarks", name), Study)) from None
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        data = read_toml(path)
    except FileNotFoundError:
        raise StudyError(
            f"{path}: no such study file{_beside(path)}; `metacog init {path}` writes one"
        ) from None
    except IsADirectoryError:
        raise StudyError(f"{path}: is a folder{_beside(path / path.name)}; give the study file") from None
    except OSError as error:
        raise StudyError(f"{path}: cannot be read ({error.strerror}); give a file you can read") from None
    except RecursionError:
        raise StudyError(f"{path}: not a readable TOML study file: nested too deeply") from None
    except ValueError as error:  # not UTF-8, not TOML, or a NUL in the path
        if "\0" in str(path):
            raise StudyError(f"{path}: no such study file: no name of a file holds a NUL") from None
        raise StudyError(f"{path}: not a readable TOML study file: {not_toml(error)}") from None
    if "path" in data:  # a field of the Study, but not a key of the file
        allowed = ", ".join(name for name in Study.model_fields if name != "path")
        raise StudyError(f"{path.name}: path: unknown key; allowed: {allowed}")
    return data


def _beside(path: Path) -> str:
    """Words about a study file that was perhaps meant: the closest name, or the only TOML file there is."""
    try:
        names = sorted(each.name for each in path.parent.glob("*.toml"))
    except (OSError, ValueError):
        return ""
    return suggestion(path.name, names) or (f' (did you mean "{names[0]}"?)' if len(names) == 1 else "")


def _with_folders(data: Mapping[str, Any], beside: Path) -> dict[str, Any]:
    """Return the study with the folders of local models taken from where its file is."""

    def placed(row: Any) -> Any:
        folder = row.get("model") if isinstance(row, dict) and row.get("provider") == "transformers" else None
        return {**row, "model": str(beside / folder)} if isinstance(folder, str) and folder else row

    tables = {key: data[key] for key in ASKED if isinstance(data.get(key), list)}
    return {**data, **{key: [placed(row) for row in rows] for key, rows in tables.items()}}


def _check_home(shown: str, study: Study) -> None:
    chosen = study.study.home or ""
    try:
        usable = chosen.isprintable()
        study.home.path.exists()
        reason = "it holds characters that cannot be printed"
        if chosen and not chosen.strip():
            reason, usable = "blank", False
        elif "://" in chosen:  # as a path it would be a folder called s3:
            reason = "an address; a home is a folder of this host, and deploy.store names where hosts share answers"
            usable = False
        elif "$" in chosen:  # a folder of that name is never meant
            reason, usable = "variables are not filled in", False
        elif study.home.path == Path(study.home.path.anchor):
            reason, usable = "the root of the file system", False
    except (OSError, ValueError, RuntimeError) as error:  # too long, a NUL, or ~ of a user who is not there
        usable, reason = False, getattr(error, "strerror", None) or str(error)
    if not usable:
        raise StudyError(f"{shown}: study.home = {as_written(chosen)}: {reason}; give the path of a folder")


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


def _refuse_no_opinion(shown: str, study: Study) -> None:
    """A judge must be somebody who can be asked, be there once, and be of one family whether it judges or is judged."""
    asked: dict[str, str] = {}
    for index, spec in enumerate(study.judges):
        where = f'{shown}: judges[{index}] "{spec.name}"'
        if spec.provider == "replay" and any(each.provider != "replay" for each in study.models):
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
        ending = next((each for each in _OPERATIONS if parts.path.rstrip("/").endswith(each)), None)
        if ending is not None:
            raise StudyError(
                f"{where}: base_url ends in {ending}, which is added when asking; give what stands before it"
            )
    for key in ("messages", "model", "stream", "contents"):
        if key in spec.extra_body:
            raise StudyError(f"{where}: extra_body.{key} is set by the pipeline itself; remove it")
    try:
        canonical_json(spec.extra_body)
    except RecursionError:
        raise StudyError(f"{where}: extra_body is nested too deeply; no provider reads that") from None
    except ValueError:  # older pydantic lets such a number pass
        key = key_of(not_finite(spec.extra_body, ("extra_body",)) or ("extra_body",))
        raise StudyError(f"{where}: {key}: give a finite number") from None


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


def _benchmark_names() -> str:
    return ", ".join(f"[benchmarks.{name}]" for name in registry.names())
