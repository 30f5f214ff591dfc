"""The study file: TOML in, a validated :class:`Study` out; every error names file, key, value and what is allowed."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import Field, SerializeAsAny, ValidationError

from metacog_pipeline import registry
from metacog_pipeline.deploy import DeploySection
from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.files import read_toml
from metacog_pipeline.home import Home
from metacog_pipeline.llm.spec import IN_PROCESS, ModelSpec
from metacog_pipeline.study.allowed import as_written, explain, not_toml
from metacog_pipeline.study.sections import Section, Settings

SectionT = TypeVar("SectionT", bound=Section)
ASKED = ("models", "judges")  # the tables whose rows are models that can be asked
# Keys of some providers have the form of a variable's name; no variable is called that.
_KEY_LIKE = re.compile(r"sk_|gsk_|hf_|r8_|AIza|(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])\w{20}")
MOST_BUDGET = 10**9  # dollars; a larger number is a slip
_OWNER = r"^(?:team:[A-Za-z0-9_ -]{1,80}|[^@\s]{1,64}@[A-Za-z0-9.-]+\.[A-Za-z]{2,})$"
_NAME = 'text in "quotes" of at most 100 letters, digits, spaces, dots, underscores and hyphens, a letter or digit first'


class StudySection(Section):
    """``[study]``: ``runs`` repeats of everything, ``budget_usd`` the most this home may ever spend.

    ``owners`` are shown on every asset in the UI: mail addresses, or teams as ``team:name``.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$", description=_NAME)
    home: str | None = Field(default=None, min_length=1)
    runs: int = Field(default=1, ge=1, le=99, strict=True)
    seed: int = Field(default=0, ge=0, lt=2**24, strict=True)
    budget_usd: float | None = Field(default=None, ge=0, le=MOST_BUDGET, allow_inf_nan=False, strict=True)
    owners: tuple[Annotated[str, Field(pattern=_OWNER)], ...] = Field(
        default=("team:metacog",), description='a list in [ ], each "team:NAME" or a mail address'
    )


class ReaderSection(Section):
    """``[reader]``: the ``[[judges]]`` row that decides what words alone do not; off without the table."""

    judge: str


class StudyFile(Section):
    """The tables of a study file.

    ``judges`` are models that grade answers; they are not measured.
    ``benchmarks`` are the tables ``[benchmarks.NAME]`` in the order of the file, which is the order of asking.
    """

    study: StudySection
    models: tuple[ModelSpec, ...]
    judges: tuple[ModelSpec, ...] = ()
    benchmarks: dict[str, SerializeAsAny[Settings]]
    training: SerializeAsAny[Section] | None = None
    reader: ReaderSection | None = None
    deploy: DeploySection = DeploySection()


class Study(StudyFile):
    """A validated study. ``path`` is the file it came from; relative paths in it start there.

    ``broken_plugins`` are benchmarks the file names whose package cannot be used, and why; the study goes on without them.
    """

    path: Path
    broken_plugins: dict[str, str] = Field(default_factory=dict)

    @property
    def home(self) -> Home:
        """The study's folder, absolute."""
        chosen = Path(self.study.home or f"{self.study.name}-home").expanduser()
        # Not resolved: it is asked for with every path, and that looks at every folder on the way.
        return Home(Path(os.path.normpath(self.path.parent / chosen)))

    def beside(self, path: Path) -> Path:
        """Return ``path`` as the study file means it."""
        return (self.path.parent / path.expanduser()).resolve()

    def prepare(self) -> None:
        """Make the home ready to be written in; raises as `preparing.prepare`."""
        from metacog_pipeline import preparing  # late: whoever only reads a board needs none of it

        preparing.prepare(self.home, self.deploy)

    @property
    def variables(self) -> frozenset[str]:
        """The environment variables that the study names: keys of providers, addresses of databases."""
        keys = (each.api_key_env for each in self.askable)
        return frozenset(filter(None, [self.deploy.dagster_storage, self.deploy.broker, *keys]))

    @property
    def runs(self) -> range:
        """Run numbers, from 1."""
        return range(1, self.study.runs + 1)

    @property
    def askable(self) -> tuple[ModelSpec, ...]:
        """Everybody who can be asked: models and judges. Their names differ."""
        return (*self.models, *self.judges)

    @property
    def reader_model(self) -> ModelSpec | None:
        """The judge that decides what words alone do not; None where the study names none."""
        named = None if self.reader is None else self.reader.judge
        return next((each for each in self.judges if each.name == named), None)

    @property
    def enabled(self) -> tuple[str, ...]:
        """The names of the benchmarks that run: those with a table in the file, without ``enabled = false``."""
        return tuple(name for name, settings in self.benchmarks.items() if settings.enabled)

    def model(self, name: str) -> ModelSpec:
        """Return the model called ``name``. Raises ``StudyError`` if the study has no such model."""
        for spec in self.models:
            if spec.name == name:
                return spec
        names = [spec.name for spec in self.models]
        near = suggestion(name, names)
        raise StudyError(f'{self.path.name}: no model "{name}"{near}; it has: {", ".join(names)}')


def load_study(path: Path) -> Study:
    """Read and validate the study file at ``path``.

    Raises ``StudyError`` with file, key, value and what is allowed, on one line.
    """
    data = _read(path)
    try:
        return _validated(path, data)
    except ValidationError as error:
        raise StudyError(f"{path.name}: {explain(error, StudyFile)}") from None
    except StudyError as error:
        raise StudyError(f"{path.name}: {error}") from None


def _validated(path: Path, data: Mapping[str, Any]) -> Study:
    models = data.get("models", [])
    if not models or not isinstance(models, list | dict):
        raise StudyError("models: the study has no model; add at least one [[models]] table with a name")
    tables, broken = _benchmarks(data)
    read = StudyFile.model_validate({**data, "benchmarks": tables, "training": _training(data)})
    fields = {name: getattr(read, name) for name in StudyFile.model_fields}
    fields |= {key: tuple(_placed(spec, path.resolve().parent) for spec in fields[key]) for key in ASKED}
    study = Study(**fields, path=path.resolve(), broken_plugins=broken)
    _check_home(study)
    for problem in _problems(study):
        raise StudyError(problem)
    _drop_broken(study)
    for settings in study.benchmarks.values():
        for problem in settings.check(study):
            raise StudyError(problem)
    if not study.enabled:
        named = ", ".join(f"[benchmarks.{name}]" for name in registry.names())
        none = f"benchmarks: none is named; add a table of one of {named}, without enabled = false"
        raise StudyError(next(iter(study.broken_plugins.values()), none))
    return study


def _problems(study: Study) -> Iterator[str]:
    yield from study.deploy.problems()
    judges = [each.name for each in study.judges]
    if study.reader is not None and study.reader.judge not in judges:
        near, there = suggestion(study.reader.judge, judges), ", ".join(judges) or "no row"
        yield f'reader.judge: no judge "{study.reader.judge}"{near}; [[judges]] has: {there}'
    rows = [(f"{key}[{n}]", spec) for key in ASKED for n, spec in enumerate(getattr(study, key))]
    named: dict[str, str] = {}
    opinions: dict[str, str] = {}
    for place, spec in rows:
        # What a call cost is kept under the name of who was asked.
        if (first := named.setdefault(spec.name, place)) != place:
            yield f'{place}.name = "{spec.name}" repeats {first}.name; choose another'
        for problem in _of_model(spec):
            yield f'{place} "{spec.name}": {problem}'
        if spec not in study.judges:
            continue
        if spec.provider == "replay" and any(each.provider != "replay" for each in study.models):
            yield f'{place} "{spec.name}": provider = "replay" never answers; name a provider that can be asked'
        if (first := opinions.setdefault(spec.identity_json, spec.name)) != spec.name:
            yield (
                f'{place} "{spec.name}": asks the same model as judge "{first}", so that one opinion would count '
                "twice; remove one"
            )


def _benchmarks(data: Mapping[str, Any]) -> tuple[dict[str, Settings], dict[str, str]]:
    """Return the tables of the benchmarks, each validated by the benchmark's own settings; why others are broken."""
    tables = data.get("benchmarks", {})
    if not isinstance(tables, dict):
        raise StudyError(f"benchmarks = {as_written(tables)}: give tables, for example [benchmarks.NAME]")
    found: dict[str, Settings] = {}
    broken: dict[str, str] = {}
    for name, table in tables.items():
        try:
            settings: type[Settings] = registry.part(name, "Settings")
        except registry.BrokenPluginError as error:
            if not (isinstance(table, dict) and table.get("enabled") is False):
                broken[name] = str(error)
        except StudyError as error:
            raise StudyError(f"benchmarks.{name}: {error}") from None
        else:
            found[name] = _validated_by(settings, table, ("benchmarks", name))
    return found, broken


def _training(data: Mapping[str, Any]) -> Section | None:
    """Return the table ``[training]``, validated by the benchmark that trains models; None without one."""
    for name in registry.names() if "training" in data else ():
        with contextlib.suppress(registry.BrokenPluginError):
            section: type[Section] | None = registry.part(name, "Settings").training
            if section is not None:
                return _validated_by(section, data["training"], ("training",))
    return None


def _validated_by(section: type[SectionT], table: Any, place: tuple[str, ...]) -> SectionT:
    try:
        return section.model_validate(table)
    except ValidationError as error:
        raise StudyError(explain(error, section, place)) from None


def _drop_broken(study: Study) -> None:
    """Leave benchmarks of other packages out whose class cannot be used with this study."""
    for name in study.enabled:
        try:
            registry.check(name, study)
        except registry.BrokenPluginError as error:
            study.broken_plugins[name] = str(error)
            del study.benchmarks[name]


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path)
    except FileNotFoundError:
        near = suggestion(path.name, [each.name for each in path.parent.glob("*.toml")])
        why = f"no such study file{near}; `metacog init {path}` writes one"
    except OSError as error:
        why = f"cannot be read ({error.strerror}); give a study file you can read"
    except RecursionError:
        why = "not a readable TOML study file: nested too deeply"
    except ValueError as error:  # not UTF-8, not TOML, or a NUL in the path
        why = f"not a readable TOML study file: {not_toml(error)}"
    raise StudyError(f"{path}: {why}")


def _placed(spec: ModelSpec, folder: Path) -> ModelSpec:
    """Return a row of the study with the folder of a local model taken from where the study file is."""
    local = spec.provider == "transformers" and spec.model
    return spec.model_copy(update={"model": str(folder / spec.model)}) if local else spec


def _check_home(study: Study) -> None:
    chosen, reason = study.study.home or "", ""
    try:
        study.home.path.exists()
        if chosen and not (chosen.strip() and chosen.isprintable()):
            reason = "blank, or of characters that cannot be printed"
        elif "://" in chosen:  # as a path it would be a folder called s3:
            reason = (
                "an address; a home is a folder of this host, deploy.store names where hosts share answers"
            )
    except (OSError, ValueError, RuntimeError) as error:  # too long, a NUL, or ~ of a user who is not there
        reason = getattr(error, "strerror", None) or str(error)
    if reason:
        raise StudyError(f"study.home = {as_written(chosen)}: {reason}; give the path of a folder")


def _of_model(spec: ModelSpec) -> Iterator[str]:
    if not spec.model and spec.provider == "transformers":
        yield 'model is missing; give the folder of the model, e.g. model = "models/mine"'
    elif not spec.model and spec.provider not in IN_PROCESS:
        yield 'model is missing; give the model id the provider knows, e.g. model = "…"'
    if spec.api_key_env is not None and _KEY_LIKE.match(spec.api_key_env):
        yield "api_key_env looks like a key itself; give the NAME of the environment variable that holds it"
    if spec.base_url is not None:
        yield from _of_address(spec.base_url)
    for key in ("messages", "model", "stream", "contents"):
        if key in spec.extra_body:
            yield f"extra_body.{key} is set by the pipeline itself; remove it"


def _of_address(text: str) -> Iterator[str]:
    try:
        parts = urlsplit(text if text.isprintable() and " " not in text else "")
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        yield "base_url is not an http(s) address; e.g. https://host/v1"
    elif parts.username or parts.password or parts.query or parts.fragment:
        yield "base_url must not carry a user, password, query or fragment; name the key's variable in api_key_env"
