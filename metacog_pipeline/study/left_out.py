"""A benchmark that a study names and whose package is broken: it is left out, and the others run.

Its table in the study file is taken as switched off, whatever it says: nobody but its own package could read the keys.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ConfigDict, Field, model_validator

from metacog_pipeline.study.sections import Settings

if TYPE_CHECKING:
    from metacog_pipeline.study.study_file import Study

TOLD = "METACOG_TOLD"  # lines a command has said, so that the processes it starts do not say them again


class LeftOut(Settings):
    """The table of such a benchmark. ``left_out`` says why; it is empty where the file itself has switched it off."""

    model_config = ConfigDict(extra="ignore")
    why: ClassVar[str] = ""
    enabled: bool = Field(default=False, strict=True)
    left_out: str = ""

    @model_validator(mode="before")
    @classmethod
    def _switch_off(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {"enabled": False, "left_out": "" if given.get("enabled") is False else cls.why}

    def check(self, study: Study) -> Iterable[str]:
        """Say once that the study goes on without it; where nothing else is asked, that is what is wrong."""
        if not self.left_out:
            return
        if study.enabled:
            tell(f"{self.left_out}; the others go on without it")
        else:
            yield self.left_out


def settings(why: str) -> type[LeftOut]:
    """Return the settings of a benchmark that is left out for the reason ``why``."""
    return type("LeftOutSettings", (LeftOut,), {"why": why, "__module__": __name__})


def tried(found: type[Settings], faults: Callable[[Study], str | None]) -> type[Settings]:
    """Return settings like ``found`` whose benchmark is left out where ``faults`` finds any in the study that names it."""

    def check(self: Settings, study: Study) -> Iterable[str]:
        why = faults(study) if self.enabled else None
        if why is None:
            return found.check(self, study)
        name = next(name for name, each in study.benchmarks.items() if each is self)
        study.benchmarks[name] = settings(why).model_validate({})
        return study.benchmarks[name].check(study)

    return type(found.__name__, (found,), {"check": check, "__module__": __name__, "__doc__": found.__doc__})


def left_out(study: Study) -> dict[str, str]:
    """Return why benchmarks are left out that the study asks for, by name."""
    found = study.benchmarks.items()
    return {name: each.left_out for name, each in found if isinstance(each, LeftOut) and each.left_out}


def tell(line: str) -> None:
    """Say a line on standard error, once in all processes of a command."""
    told = os.environ.get(TOLD, "").splitlines()
    if line not in told:
        os.environ[TOLD] = "\n".join([*told, line])
        print(f"metacog: {line}", file=sys.stderr, flush=True)
