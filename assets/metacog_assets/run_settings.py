"""What a person may set in the Launchpad for one run that asks models; left alone, the study file decides."""

import contextlib
import os
from collections.abc import Iterator
from enum import Enum

import dagster as dg
from pydantic import Field

from metacog_assets.figures import Fact
from metacog_assets.partitioned import partitions_of
from metacog_assets.study_file import bound
from metacog_pipeline.asking import planning
from metacog_pipeline.asking.variables import LANE
from metacog_pipeline.errors import StudyError


class Lane(Enum):
    """How calls are sent."""

    as_in_study = "as_in_study"
    online = "online"
    batch = "batch"


class Asking(dg.Config):
    """Settings of one run that asks models."""

    limit: int | None = Field(
        default=None,
        description="Ask only the first so many questions of each model and run, and those begun before: 1 or more. The "
        "partition stays incomplete; a later run that a person starts asks the rest.",
    )
    lane: Lane = Field(
        default=Lane.as_in_study,
        description="online: calls one by one; batch: through the provider's batches, at half the price and hours later; "
        "as_in_study: as the row of the model says.",
    )
    dry_run: bool = Field(
        default=False,
        description="Ask nobody: say for each partition how many calls are left and what they cost at most.",
    )

    def check(self) -> None:
        """Raise StudyError where a setting makes no sense."""
        if self.limit is not None and self.limit < 1:
            raise StudyError(
                f"limit: {self.limit} (in the settings of this run): give 1 or more, or leave it out to ask everything"
            )

    @contextlib.contextmanager
    def chosen_lane(self) -> Iterator[None]:
        """Have models asked in the lane of this run for as long as the block takes."""
        before = os.environ.get(LANE)
        if self.lane is not Lane.as_in_study:
            os.environ[LANE] = self.lane.value
        try:
            yield
        finally:
            if before is None:
                os.environ.pop(LANE, None)
            else:
                os.environ[LANE] = before


def planned(
    context: dg.AssetExecutionContext, name: str, check: str, limit: int | None
) -> dg.AssetCheckResult:
    """Note for each partition of the run what asking it would take, and return whether nothing is left to ask."""
    left: dict[str, Fact] = {}
    for key, partition in partitions_of(context, bound(name)):
        row = planning.plan_partition(bound(name), partition, limit)
        facts: dict[str, Fact] = {
            "calls to make": row.to_ask,
            "calls answered": row.answered,
            "input tokens": row.tokens_in,
            "output tokens at most": row.tokens_out,
            "dollars at most": "no price known" if row.dollars is None else round(row.dollars, 6),
        }
        context.log.info(f"dry run, {key}: " + ", ".join(f"{what} {fact}" for what, fact in facts.items()))
        context.log_event(
            dg.AssetObservation(
                context.asset_key, description="dry run: nobody was asked", partition=key, metadata=facts
            )
        )
        if row.to_ask:
            left[key] = row.to_ask
    return dg.AssetCheckResult(
        check_name=check,
        passed=not left,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"dry run": True, **{f"{key} calls to make": fact for key, fact in left.items()}},
    )
