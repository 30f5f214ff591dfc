"""What is told of work on a study, without Dagster: figures of what was done, verdicts of checks, how far asking is."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from metacog_assets import apart
from metacog_assets.study_file import Bound, bound
from metacog_pipeline.asking.session import WAITING, Partition
from metacog_pipeline.asking.states import Progress, SessionResult, Tally
from metacog_pipeline.errors import MetacogError, one_line
from metacog_pipeline.progress import ProgressLine, style_from_environment
from metacog_pipeline.study import digests

if TYPE_CHECKING:
    from dagster import MarkdownMetadataValue as Markdown

ROWS, URI = "dagster/row_count", "dagster/uri"  # the names under which Dagster shows and plots them

Fact: TypeAlias = "int | float | str | Markdown"


@dataclass(frozen=True, slots=True)
class Place:
    """A model in a run of a benchmark, by name; what is read of the benchmark is kept as long as ``step`` is the same."""

    step: str
    benchmark: str
    model: str
    run: int

    def open(self) -> tuple[Bound, Partition]:
        """Return the benchmark and the partition, as the study file is now, to work on its files."""
        found = _opened(self.step, self.benchmark)
        study = found.context.study
        digests.begin(study.home)
        return found, Partition(study, self.benchmark, study.model(self.model), self.run)


@functools.lru_cache(maxsize=1)
def _opened(step: str, name: str) -> Bound:
    return bound(name)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a check of one partition ended, with its figures; one that ``blocks`` keeps later assets from running."""

    check: str
    passed: bool
    facts: Mapping[str, Fact]
    blocks: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """What was made of one partition: figures, the digest of the result, and how its check ended."""

    facts: Mapping[str, Fact]
    version: str
    verdict: Verdict | None = None


class Stopped(MetacogError):
    """A partition whose asking ended early; its figures are shown with the failure."""

    def __init__(self, reason: str, exit_code: int) -> None:
        super().__init__(f"stopped: {reason}")
        self.exit_code = exit_code


class Waits(MetacogError):
    """A partition whose batches are under way: it is not there yet, and holds no worker until they have ended."""

    exit_code = WAITING

    def __init__(self, batches: int) -> None:
        what = "1 batch is" if batches == 1 else f"{batches} batches are"
        super().__init__(
            f"waiting: {what} under way at the provider (see: metacog status STUDY --batches); run again later"
        )


def tally_facts(tally: Tally) -> dict[str, Fact]:
    """Return what calls were made and what they cost."""
    return {
        "calls": tally.calls,
        "reused answers": tally.reused,
        "input tokens": tally.input_tokens,
        "output tokens": tally.output_tokens,
        "dollars": round(tally.cost_usd, 6),
    }


def asked(outcome: SessionResult) -> dict[str, Fact]:
    """Return what a session of asking did and cost."""
    return {
        "items × conditions": outcome.tasks,
        "answered": outcome.answered,
        "failed": outcome.failed,
        "unusable": outcome.unusable,
        **tally_facts(outcome.tally),
        "answer mode": outcome.profile.mode if outcome.profile else "none worked",
    }


def answering_models(partition: Partition) -> dict[str, Fact]:
    """Return the model ids the provider reported, with how many answers each gave; they may differ from the one asked."""
    reported = partition.manifest().get("model_reported")
    if not isinstance(reported, dict) or not reported:
        return {}
    return {
        "models reported": ", ".join(
            f"{one_line(str(name), 80)}: {count}" for name, count in reported.items()
        )
    }


@contextlib.contextmanager
def progress_of(label: str, total: int | None = None) -> Iterator[Callable[[Progress], None]]:
    """Give the function that shows how far a piece of asking is; ``total`` is taken from the first call where not known."""
    line: list[ProgressLine] = []

    def show(progress: Progress) -> None:
        if not line:
            line.append(ProgressLine(label, total or progress.total, style_from_environment(), apart.say))
        line[0].update(progress.done, progress.tally.cost_usd)

    try:
        yield show
    finally:
        for each in line:
            each.__exit__(None, None, None)
