"""What the study file says about MEDLEY-BENCH."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from metacog_pipeline.errors import suggestion
from metacog_pipeline.study import sections
from metacog_pipeline.study.sections import Stage, setting

if TYPE_CHECKING:
    from metacog_pipeline.study import Study


ConditionName = Literal[
    "normal", "adversarial", "stripped", "minimal", "nudged", "dose_0", "dose_2", "dose_4"
]


class Generator(sections.Section):
    """``[benchmarks.medley.generator]``: who makes new instances, from which seeds.

    ``seed_file`` is a TOML or JSON file, relative to the study file. ``designers`` and ``analysts`` name rows of
    ``[[authors]]``, ``verifiers`` three rows of ``[[judges]]``: the first write the cases, the second judge them, the
    third say whether what most of the analysts think is right. With ``allow_incomplete`` the instances are made although
    somebody has not answered everything.
    """

    seed_file: sections.PathText
    designers: Annotated[tuple[str, ...], Field(min_length=1)]
    analysts: Annotated[tuple[str, ...], Field(min_length=8)]
    verifiers: Annotated[tuple[str, ...], Field(min_length=3, max_length=3)]
    allow_incomplete: bool = Field(default=False, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, given: Any) -> Any:
        return sections.refuse_renamed(
            given, {"seeds": "seed_file", "pool": "analysts", "judges": "verifiers"}
        )

    @field_validator("designers", "analysts", "verifiers")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return sections.each_once(value)

    def check(self, study: Study) -> Iterator[str]:
        """Yield what is wrong: whoever makes instances must be listed, able to answer, and of one opinion and family."""
        for key, table, names in (
            ("designers", "authors", self.designers),
            ("analysts", "authors", self.analysts),
            ("verifiers", "judges", self.verifiers),
        ):
            where = f"benchmarks.medley.generator.{key}"
            known = {spec.name: spec for spec in getattr(study, table)}
            asked: dict[str, str] = {}
            for name in names:
                spec = known.get(name)
                if spec is None:
                    yield (
                        f'{where}: no row "{name}"{suggestion(name, list(known))}; '
                        f"[[{table}]] has: {', '.join(known) or 'none'}"
                    )
                    continue
                if spec.provider == "replay":
                    yield (
                        f'{where}: "{name}" has provider = "{spec.provider}", which knows no new cases; name a model '
                        'that can be asked, or take dataset = "sample"'
                    )
                if key == "analysts" and spec.family is None:
                    yield (
                        f'{table} "{name}": family is missing; name who made the model, e.g. family = "openai", so '
                        "that no panel is of one family"
                    )
                if (first := asked.setdefault(spec.identity_json, name)) != name:
                    yield (
                        f'{where}: "{name}" asks the same model as "{first}", so that one opinion would count twice; '
                        "remove one"
                    )


class Settings(sections.Settings):
    """``[benchmarks.medley]``: which instances, under which conditions, scored how and judged by whom.

    ``sample-v1`` is the sample as it was before 0.3.0, for a study that goes on with kept answers.
    ``limit`` draws that many instances by the study's seed. ``scoring`` decides between the published paper and its
    authors' package where the two differ. ``judges`` names rows of ``[[judges]]``; without any, the part of the
    score that needs a judge is missing, and shown as missing. ``anonymise`` shows the analysts as Analyst A to H;
    ``order = "seeded"`` shuffles them by instance, the same for every model. ``folder`` holds the files of a data set
    of one's own, ``wording`` is a TOML file with the exact texts of another study, ``"reference"`` for the texts of the
    installed package of the authors, or a folder that holds it, ``judge_wording`` one with what its
    judges were told; all relative to the study file. With ``generator`` the instances are made anew and
    ``dataset = "custom"`` means these.
    """

    dataset: Literal["published", "sample", "sample-v1", "custom"] = setting(Stage.ITEMS, "published")
    limit: int | None = setting(Stage.ITEMS, None, ge=1, strict=True)
    conditions: Annotated[tuple[ConditionName, ...], Field(min_length=1)] = setting(Stage.ASKING, ("normal",))
    scoring: Literal["reference", "paper"] = setting(Stage.SCORING, "reference")
    judges: tuple[str, ...] = setting(Stage.JUDGING, ())
    anonymise: bool = setting(Stage.ASKING, True, strict=True)
    order: Literal["file", "seeded"] = setting(Stage.ASKING, "file")
    judge_wording: sections.PathText | None = setting(Stage.JUDGING, None)
    folder: sections.PathText | None = setting(Stage.ITEMS, None)
    generator: Generator | None = setting(Stage.ITEMS, None)

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, given: Any) -> Any:
        return sections.refuse_renamed(given, {"variant": "scoring"})

    @field_validator("conditions", "judges")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return sections.each_once(value)

    @model_validator(mode="after")
    def _custom_needs_folder(self) -> Settings:
        if self.generator is not None:
            if self.dataset != "custom" or self.folder is not None:
                raise ValueError(
                    'generator makes a data set of its own: set dataset = "custom" and leave folder out, or remove '
                    "[benchmarks.medley.generator]"
                )
        elif (self.dataset == "custom") != (self.folder is not None):
            raise ValueError('dataset = "custom" and folder = "…" go together: give both or neither')
        return self

    def _in_their_words(self) -> Iterator[str]:
        """Yield what the words of the authors' package do not go with."""
        where = f'benchmarks.medley.wording = "{self.wording}"'
        if self.dataset.startswith("sample") or self.generator is not None:
            yield (
                f"{where}: the authors' words ask for claims of one's own, and these instances state theirs; take "
                'dataset = "published", or leave wording out'
            )
        for name in ("minimal", "nudged"):
            if name in self.conditions:
                yield f'{where}: has no words for the condition "{name}"; leave it out'
        for key, value in (("anonymise", True), ("order", "seeded")):
            if key in self.model_fields_set and getattr(self, key) == value:
                yield (
                    f"{where}: the authors' package shows analysts by name in file order; leave {key} out, or wording"
                )

    def check(self, study: Study) -> Iterable[str]:
        """Yield what is wrong: judges must be listed and be of a family, as must everybody who is judged."""
        if self.wording is not None and (
            self.wording == Path("reference") or (study.path.parent / self.wording.expanduser()).is_dir()
        ):
            yield from self._in_their_words()
        known = {spec.name: spec for spec in study.judges}
        for name in self.judges:
            spec = known.get(name)
            if spec is None:
                yield (
                    f'benchmarks.medley.judges: no judge "{name}"{suggestion(name, list(known))}; '
                    f"[[judges]] has: {', '.join(known) or 'none'}"
                )
            elif spec.family is None:
                yield (
                    f'judges "{name}": family is missing; name who made the model, e.g. family = "openai", so that it '
                    "judges none of its kin"
                )
        for spec in study.models if self.judges else ():
            if spec.family is None:
                yield (
                    f'models "{spec.name}": family is missing; judges are asked, and none may judge its own family: '
                    'name who made the model, e.g. family = "openai"'
                )
        if self.generator is not None:
            yield from self.generator.check(study)
