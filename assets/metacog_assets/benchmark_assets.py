"""The assets of one benchmark, made from its contract: the only place that knows in which order its stages stand.

steps of construction → transcripts [→ choice → transcripts of a later arm] → responses [→ judgements] → run_estimates
→ estimates, comparisons, its own tables; published beside.
"""

from __future__ import annotations

import dagster as dg

from metacog_assets.answer_assets import answer_assets, later_arms
from metacog_assets.parts import parts
from metacog_assets.score_assets import score_assets
from metacog_assets.step_assets import items_name, step_assets
from metacog_assets.study_file import Bound
from metacog_pipeline.asking import judging
from metacog_pipeline.transcripts.folder import judgements_of


def benchmark_assets(benchmark: Bound) -> list[dg.AssetsDefinition]:
    """Return the assets of a benchmark."""
    return [*step_assets(benchmark), *answer_assets(benchmark), *score_assets(benchmark)]


def asking_names(benchmark: Bound) -> list[str]:
    """Return the names of the assets that keep answers of the models that are measured."""
    arms = [f"{benchmark.name}_{arm}_transcripts" for arm in later_arms(benchmark)]
    return [f"{benchmark.name}_transcripts", *arms]


def produced(benchmark: Bound) -> list[tuple[str, dg.AssetKey]]:
    """Return which file is written by which asset: one example of each sort, relative to the home."""
    name, run = benchmark.name, "model=m/run=1"
    files = {
        f"items/{name}.parquet": items_name(benchmark),
        f"transcripts/benchmark={name}/{run}/part-0.parquet": asking_names(benchmark)[-1],
        f"responses/{name}/{run}.parquet": f"{name}_responses",
        f"scored/{name}/{run}.parquet": f"{name}_run_estimates",
        f"harmonised/{name}/{run}.parquet": f"{name}_run_estimates",
        f"estimates/{name}/runs/{run}.parquet": f"{name}_run_estimates",
        f"estimates/{name}/models/m.parquet": f"{name}_estimates",
        **{
            f"study/{file}.parquet": asking_names(benchmark)[-1]
            for file in ("partitions", "models", "helpers")
        },
    }
    for part in parts(benchmark)[1:]:
        files[benchmark.context.home.key(part.path(benchmark))] = part.name
    if benchmark.published is not None:
        files |= {
            f"estimates/{name}/published/{file}.parquet": f"{name}_published"
            for file in ("published_values", "published_claims")
        }
    if judging.wanted(benchmark) is not None:
        judgements = judgements_of(name)
        files[f"judgements/{name}/{run}.parquet"] = judgements
        files[f"transcripts/benchmark={judgements}/{run}/part-0.parquet"] = judgements
    for step in benchmark.construction():
        if step.asks is not None:
            files[f"transcripts/benchmark={name}_{step.asks.name}/{run}/part-0.parquet"] = (
                f"{name}_{step.name}"
            )
    return [(path, dg.AssetKey(asset)) for path, asset in files.items()]
