"""Tables of a study file: what all of them share."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

if TYPE_CHECKING:
    from metacog_pipeline.study.study_file import Study


class Section(BaseModel):
    """A table of the study file: nothing unknown in it, and nothing changed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Stage(enum.StrEnum):
    """The stages of a benchmark, in order. A changed input makes its stage stale and every later one."""

    ITEMS = "items"
    ASKING = "asking"
    PARSING = "parsing"
    JUDGING = "judging"
    SCORING = "scoring"


def _named(value: Any) -> Any:
    if isinstance(value, str) and not (value.strip() and value.isprintable()):
        raise ValueError('give the path of a file or folder, in "quotes"')
    return value


PathText = Annotated[Path, BeforeValidator(_named)]  # "" would be the folder of the study file


def setting(stage: Stage, default: Any = ..., **rules: Any) -> Any:
    """Return a key of a benchmark's table: the first stage that is stale when it changes, its default, pydantic's rules."""
    return Field(default, json_schema_extra={"stage": stage.value}, **rules)


class Settings(Section):
    """``[benchmarks.NAME]``: the keys every benchmark has. A benchmark adds its own in a subclass.

    ``wording`` is a TOML file with the exact texts of another study, relative to the study file. ``allow_incomplete``
    gives numbers for runs in which something was not answered, and labels them. ``reask_unreadable`` asks a reply that
    cannot be read once more for its form; the protocols of the papers do not. No complete run is asked again for it.

    A benchmark that ``takes_questions`` reads the files in `Home.imported` as well, rows of `question_rows`: questions of
    logs that no benchmark asks yet. One that trains models names the table ``[training]`` in ``training``.
    """

    takes_questions: ClassVar[bool] = False
    training: ClassVar[type[Section] | None] = None

    enabled: bool = Field(default=True, strict=True)
    wording: PathText | None = setting(Stage.ASKING, None)
    allow_incomplete: bool = setting(Stage.SCORING, False, strict=True)
    reask_unreadable: bool = Field(default=True, strict=True)  # of no stage: it makes nothing stale

    def affecting(self, stage: Stage) -> dict[str, Any]:
        """Return the keys whose change makes ``stage`` the first stale one, with their values as JSON."""
        extras = {name: field.json_schema_extra for name, field in type(self).model_fields.items()}
        own = {name for name, each in extras.items() if isinstance(each, dict) and each.get("stage") == stage}
        return self.model_dump(mode="json", include=own)

    def check(self, study: Study) -> Iterable[str]:
        """Yield what is wrong with these keys in this study: what, the value, what to do, one line each."""
        return ()


def each_once(value: tuple[str, ...]) -> tuple[str, ...]:
    """Return ``value``; a ValueError where a name occurs twice."""
    if len(set(value)) != len(value):
        raise ValueError("a name is listed twice")
    return value


def refuse_renamed(given: Any, names: Mapping[str, str]) -> Any:
    """Return a table as given; a ValueError says the new name of a key of an earlier version, from {old: new}."""
    old = next((key for key in names if isinstance(given, dict) and key in given), None)
    if old is not None:
        raise ValueError(f"{old} is now {names[old]}; rename the key")
    return given
