"""Studies in which no model differs from another, for every benchmark: responses made by hand, tests by the package."""

from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline import registry
from metacog_pipeline.benchmark.contract import Contrast, Question
from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.benchmarks.medley.items import ADVERSARIAL, CLAIM_IDS, NORMAL, RATED
from metacog_pipeline.scoring.comparisons import LEVEL, as_table, judged
from metacog_pipeline.scoring.estimates import groups_of

MODELS = 20
Maker = Callable[[int], tuple[Any, list[Group]]]


def question(benchmark: Any) -> Question:
    """Return what is asked of the difference between two models."""
    families = {each.family for each in benchmark.contrasts if each.pairs}
    return next(each for each in benchmark.questions if each.primary[0] in families)


def rejected(benchmark: Any, groups: list[Group]) -> tuple[bool, int]:
    """Return whether any pair of models differs in the primary measure after correction, and how many pairs were tested."""
    family, measure = question(benchmark).primary
    contrast: Contrast = next(each for each in benchmark.contrasts if each.family == family)
    pairs = list(combinations(sorted({group.model for group in groups}), 2))
    rows = as_table(benchmark, contrast.compute(benchmark, groups, pairs)).filter(
        family=family, measure=measure
    )
    p = judged(contrast, rows)["p_adjusted"].drop_nulls()
    assert len(p), f"{benchmark.name}: no pair was tested in {measure}"
    return bool((p < LEVEL).any()), len(p)


def share(make: Maker, studies: int) -> tuple[int, int]:
    """Return in how many of ``studies`` some pair differs, and how many pairs were tested in the last."""
    found = [rejected(*make(seed)) for seed in range(studies)]
    return sum(hit for hit, _ in found), found[-1][1]


def makers(folder: Path) -> dict[str, Maker]:
    """Return by benchmark what makes the groups of a study from its seed."""
    return {
        "metamedqa": _metamedqa,
        "selfknowledge": lambda seed: _selfknowledge(seed, folder),
        "metacogbench": lambda seed: _metacogbench(seed, folder),
        "medley": _medley,
        "signaldetection": _signaldetection,
    }


def _hits(rng: np.random.Generator, n: int, mean: float = 0.7) -> Iterator[np.ndarray[Any, Any]]:
    """Yield each model's right answers to ``n`` items of one difficulty for all."""
    hard = np.clip(rng.normal(mean, 0.2, n), 0.02, 0.98)
    for _ in range(MODELS):
        yield (rng.random(n) < hard).astype(int)


def _bound(name: str, folder: Path) -> Any:
    from metacog_pipeline.conformance.case import small_study

    benchmark = registry.load(name)
    return benchmark.of(small_study(benchmark, folder, benchmark.trial_settings))


def _frame(benchmark: Any, columns: dict[str, Any], n: int, **more: pl.DataType) -> pl.DataFrame:
    from metacog_pipeline.scoring.schemas import response_schema

    schema = pl.Schema({**response_schema(benchmark), **more})
    values = {name: columns.get(name) for name in schema}
    spread = {
        name: list(each) if isinstance(each, list | np.ndarray) else [each] * n
        for name, each in values.items()
    }
    return pl.DataFrame(spread, schema=schema, strict=False)


def _metamedqa(seed: int) -> tuple[Any, list[Group]]:
    from tests.metamedqa.engine import bound

    n, rng = 300, np.random.default_rng([1, seed])
    benchmark = bound(seed)
    target = np.array(list("AAEF"))[
        np.arange(n) % 4
    ]  # half can be answered, the others are missing or unknown
    names = [f"i{k:04d}" for k in range(n)]
    frames = []
    for place, hits in enumerate(_hits(rng, n)):
        wrong = np.where(target == "A", rng.choice(list("BEF"), n), "B")
        known = {
            "benchmark": "metamedqa", "dataset": "published", "condition": "baseline", "run": 1, "status": "ok",
            "source": "measured", "model": f"m{place:02d}", "position": list(range(n)), "correct": hits,
            "target": list(target), "item_id": names, "cluster": names, "confidence": 3,
            "answer": np.where(hits == 1, target, wrong).tolist(), "kind": "Original", "tags": [[]] * n,
        }  # fmt: skip
        frames.append(_frame(benchmark, known, n))
    return benchmark, groups_of(benchmark, benchmark.derive(pl.concat(frames), None), by_run=False)


def _selfknowledge(seed: int, folder: Path) -> tuple[Any, list[Group]]:
    n, rng = 200, np.random.default_rng([2, seed])
    benchmark = _bound("selfknowledge", folder)
    frames = []
    for place, hits in enumerate(_hits(rng, n)):
        yes = (rng.normal(size=n) + 1.0 * (hits - 0.5) > 0).astype(int)
        names = [f"q{k:04d}" for k in range(n)]
        known = {
            "benchmark": "selfknowledge", "dataset": "sample", "condition": "dual", "language": "en", "run": 1,
            "model": f"m{place:02d}", "item_id": names, "cluster": names,
            "position": list(range(n)), "answerable": 1, "correct": hits, "correct_inclusion": hits, "yes": yes,
            "yes_reference": yes, "truncated": 0, "meta_truncated": 0, "status": "ok",
            "source": "measured",
        }  # fmt: skip
        frames.append(_frame(benchmark, known, n))
    return benchmark, groups_of(benchmark, benchmark.derive(pl.concat(frames), None), by_run=False)


def _metacogbench(seed: int, folder: Path) -> tuple[Any, list[Group]]:
    from tests.metacogbench.conftest import observed

    benchmark = _bound("metacogbench", folder)
    frames = [observed(f"m{place:02d}", seed=seed) for place in range(MODELS)]
    return benchmark, groups_of(benchmark, benchmark.derive(pl.concat(frames), None), by_run=False)


def _medley(seed: int) -> tuple[Any, list[Group]]:
    """Ratings of claims under ``normal``, asked twice, and ``adversarial``: every model is moved as far as any other."""
    from tests.medley.bound import SCORED, Bound
    from tests.medley.test_comparisons import scored

    n, rng, benchmark = 60, np.random.default_rng([4, seed]), Bound()
    crowd = rng.choice([-1, 1], (n, len(CLAIM_IDS)))
    turned = np.concatenate([crowd, np.zeros((n, 4 * len(CLAIM_IDS)), int)], axis=1).tolist()
    moves = rng.normal(0.1, 0.05, (n, 1))  # what makes an instance move all models
    frames = []
    for place in range(MODELS):
        model = f"m{place:02d}"
        for condition, run in ((NORMAL, 1), (NORMAL, 2), (ADVERSARIAL, 1)):
            shift = moves * crowd if condition == ADVERSARIAL else 0.0
            rated = {
                name: np.clip(values, 0, 1)
                for step, names in RATED.items()
                for name, values in zip(
                    names,
                    (0.5 + rng.normal(0, 0.1, crowd.shape) + (shift if step == "s" else 0.0)).T,
                    strict=True,
                )
            }
            shown = pl.Series(turned if condition == ADVERSARIAL else [None] * n, dtype=SCORED["turned"])
            own = scored(model, np.full(n, 0.5), condition=condition, run=run)
            frames.append(own.with_columns(turned=shown, **{k: pl.Series(v) for k, v in rated.items()}))
    return benchmark, groups_of(benchmark, pl.concat(frames), by_run=False)


def _signaldetection(seed: int) -> tuple[Any, list[Group]]:
    from tests.signaldetection.scored import bound, groups
    from tests.signaldetection.test_comparisons import items_of, model

    items = items_of(200, seed)
    frames = [
        model(items, seed=1000 * seed + place, model=f"m{place:02d}", condition="confidence")
        for place in range(MODELS)
    ]
    return bound(), groups(pl.concat(frames))
