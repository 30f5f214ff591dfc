"""What the study file says about MetaCog-Bench; no statistics are loaded, since each command that reads it imports this."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field as Key
from pydantic import field_validator, model_validator

from metacog_pipeline.errors import suggestion
from metacog_pipeline.study import sections
from metacog_pipeline.study.sections import Stage, setting

if TYPE_CHECKING:
    from metacog_pipeline.study import Study


class Settings(sections.Settings):
    """``[benchmarks.metacogbench]``: which tasks, under which conditions.

    ``dataset`` is the large set or the small one. ``conditions``: ``free`` asks all tiers; ``one_turn`` asks the
    predictions of 1b together with the question, ``json`` asks 1b, 2a and 3 in JSON, ``json_notes`` 2a with room for
    notes, ``delegate`` the answerable bets with a partner who can answer instead. ``rounds`` is how many challenges
    follow each other in 2b. ``limit`` draws that many tasks of every tier by the study's seed. ``wording`` is a TOML
    file with the exact texts of another study, relative to the study file. ``judges`` names rows of ``[[judges]]`` that
    give their own verdict on every reply, ``"self"`` the model that gave it; scores rest on the first of them only
    where words alone do not decide. Published results are means of three runs at temperature 0.7.
    """

    dataset: Literal["metacog147", "metacog41"] = setting(Stage.ITEMS, "metacog147")
    conditions: Annotated[
        tuple[Literal["free", "one_turn", "json", "json_notes", "delegate"], ...], Key(min_length=1)
    ] = setting(Stage.ASKING, ("free",))
    rounds: int = setting(Stage.ITEMS, 1, ge=1, le=3, strict=True)
    limit: int | None = setting(Stage.ITEMS, None, ge=1, strict=True)
    judges: tuple[str, ...] = setting(Stage.JUDGING, ())

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, given: Any) -> Any:
        return sections.refuse_renamed(given, {"set": "dataset"})

    @field_validator("conditions", "judges")
    @classmethod
    def _unique(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return sections.each_once(value)

    def check(self, study: Study) -> Iterable[str]:
        """Yield what is wrong: judges must be listed; ``self`` is the model that replied, no row may be called so."""
        known = [spec.name for spec in study.judges]
        where = "benchmarks.metacogbench.judges"
        for name in self.judges:
            if name == "self" and name in known:
                yield f'{where}: "self" means the judged model; give the row "self" of [[judges]] another name'
            elif name != "self" and name not in known:
                yield (
                    f'{where}: no judge "{name}"{suggestion(name, [*known, "self"])}; [[judges]] has: '
                    f'{", ".join(known) or "none"}; "self" is the judged model itself'
                )
