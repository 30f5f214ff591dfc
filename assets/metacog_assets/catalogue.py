"""What one benchmark gives the code location, and which of them the study switches on."""

from collections.abc import Callable
from dataclasses import dataclass

from dagster import AssetKey, AssetsDefinition

from metacog_assets.measuring import Measurement
from metacog_pipeline.benchmarks.common.benchmark import Benchmark
from metacog_pipeline.study import Study


@dataclass(frozen=True, slots=True)
class Generation:
    """The assets that make new items by asking models. ``stale`` names those that must run, in order."""

    assets: tuple[AssetsDefinition, ...]
    stale: Callable[[Study], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class BenchmarkAssets:
    """The assets of one benchmark.

    ``beside``: assets that need no answers, published results computed again. ``generation``: None where the study takes
    items that are there.
    """

    benchmark: Benchmark
    construction: tuple[AssetsDefinition, ...]
    items: AssetsDefinition
    measured: Measurement
    beside: tuple[AssetsDefinition, ...] = ()
    generation: Generation | None = None

    @property
    def assets(self) -> tuple[AssetsDefinition, ...]:
        """All of them."""
        made = () if self.generation is None else self.generation.assets
        return (
            *made,
            *self.construction,
            *self.measured.partitioned,
            self.measured.comparisons,
            *self.beside,
        )

    @property
    def generate_job(self) -> str:
        """The name of the job that makes new items."""
        return f"{self.benchmark.name}_generate"

    @property
    def construct_job(self) -> str:
        """The name of the job that builds the items."""
        return f"{self.benchmark.name}_construct"

    @property
    def measure_job(self) -> str:
        """The name of the job that asks one model in one run, parses and scores."""
        return f"{self.benchmark.name}_measure"

    @property
    def published(self) -> tuple[AssetsDefinition, ...]:
        """What is made anew before the boards."""
        return (self.measured.comparisons, *self.beside)

    def datasets(self) -> dict[str, AssetKey]:
        """Return which asset writes the Parquet files a staging model reads; the longest prefix counts."""
        name = self.benchmark.name
        return {
            f"items/{name}": self.items.key,
            f"observations/{name}": self.measured.observations.key,
            **self._judged(),
            f"estimates/{name}/runs": self.measured.estimates.key,
            f"estimates/{name}/": self.measured.comparisons.key,
            **{
                f"estimates/{name}/{each.key.path[-1].removeprefix(f'{name}_')}": each.key
                for each in self.beside
            },
        }

    def _judged(self) -> dict[str, AssetKey]:
        judging, judgements = self.benchmark.judging, self.measured.judgements
        if judging is None or judgements is None:
            return {}
        return {f"observations/{judging.name}": judgements.key}
