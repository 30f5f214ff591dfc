"""The claims the paper leads with, each against its own tables: what follows, and what chance or construction would give.

What needs grades of single instances is not published and stands as not computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Comparison
from metacog_pipeline.benchmarks.medley import scaling
from metacog_pipeline.benchmarks.medley.abilities import ABILITIES, MAPS
from metacog_pipeline.benchmarks.medley.rule_based.panel import Floats
from metacog_pipeline.scoring import published as headlines
from metacog_pipeline.scoring.published import BUILT, FAILS, HOLDS, Row, above, claim
from metacog_pipeline.stats.ranks import spearman

_EVALUATION = ABILITIES.index("evaluation")
_UNPUBLISHED = "rests on grades of single instances, which are not published"


def ledger(data: Path) -> pl.DataFrame:
    """Return one row per headline claim of the paper, from the tables in ``data``."""
    table = pl.read_csv(data / "table_1.csv", glob=False).join(
        pl.read_csv(data / "models.csv", glob=False), on="model", how="left", maintain_order="left"
    )
    made = [
        *_size(table),
        *_profiles(table),
        *_tiers(table),
        *_changes(pl.read_csv(data / "table_s7.csv", glob=False)),
        *_open(),
    ]
    return headlines.ledger(made)


def published_slopes(data: Path) -> Iterator[Comparison]:
    """Yield how the printed scores grow with size within series, in points per tenfold size."""
    table = pl.read_csv(data / "table_1.csv", glob=False).join(
        pl.read_csv(data / "models.csv", glob=False).filter(pl.col("series").is_not_null()),
        on="model",
        maintain_order="left",
    )
    base = Comparison("", "", dataset="published", condition="normal", source="published")
    yield from scaling.rows(base, *_sized(table))


def _sized(table: pl.DataFrame) -> tuple[Floats, dict[str, Floats], list[str]]:
    scores = {name: table[name].to_numpy().astype(np.float64) / 100 for name in ("mms", *ABILITIES)}
    return np.log10(table["params_b"].cast(pl.Float64).to_numpy()), scores, table["series"].to_list()


def _size(table: pl.DataFrame) -> Iterator[Row]:
    """What the title says: evaluation grows with size, control does not."""
    named = table.filter(pl.col("series").is_not_null())
    found = scaling.slopes(*_sized(named))
    asked = {
        "evaluation": "evaluation grows with size",
        "control": "control grows with size",
        scaling.DIFFERENCE: "evaluation grows more with size than control",
    }
    for name, text in asked.items():
        slope = found[name]
        if slope is not None:
            yield claim(
                "table 1, open models", text, "slope per tenfold size within series", above(slope.low, slope.high),
                slope.value, low=slope.low, high=slope.high, expected="0 without an effect of size",
                note=f"{slope.n} models of {slope.groups} series; shares of 0 to 1",
            )  # fmt: skip
    columns = (named[name].to_numpy() for name in ("place_in_series", "evaluation", "control"))
    same, total = scaling.same_direction(named["series"].to_list(), *columns)
    yield claim(
        "table 1, size series", "evaluation and control part ways as size grows", "series whose two abilities move alike",
        FAILS if same > total / 2 else HOLDS, float(same), expected=f"{total / 2:g} of {total} if the two were unrelated",
        note=f"they move the same way in {same} of {total}",
    )  # fmt: skip


def _profiles(table: pl.DataFrame) -> Iterator[Row]:
    """What profiles within models say, and what they must say by how they are made."""
    scores = table.select(ABILITIES).to_numpy()
    weights = np.array([len(MAPS["notebook"][name]) for name in ABILITIES])
    negative = int((scores[:, _EVALUATION] < scores @ weights / weights.sum()).sum())
    yield claim(
        "table 1", "evaluation is below a model's own mean in every model", "ability - mean of ten dimensions",
        HOLDS if negative == table.height else FAILS, float(negative), published=float(table.height),
        expected="half of the models if no ability were harder than another", note="Gemma-3N (4B) is the exception",
    )  # fmt: skip
    own = scores - scores.mean(axis=1, keepdims=True)
    rhos = [_rho(own[:, i], own[:, j]) for i, j in combinations(range(len(ABILITIES)), 2)]
    yield claim(
        "table 1", "abilities compete within a model", "mean Spearman of ipsative abilities", BUILT,
        float(np.mean(rhos)), expected="-1/3: four numbers that add up to 0", low=min(rhos), high=max(rhos),
        note="low and high: range over pairs",
    )  # fmt: skip
    raw = [_rho(scores[:, i], scores[:, j]) for i, j in combinations(range(len(ABILITIES)), 2)]
    yield claim(
        "table 1", "the four abilities are distinct", "Spearman of raw abilities over models", FAILS,
        float(np.mean(raw)), low=min(raw), high=max(raw), expected="0 for unrelated abilities, 1 for one ability",
        note="low and high: range over pairs; one ability accounts for most of all four",
    )  # fmt: skip


def _tiers(table: pl.DataFrame) -> Iterator[Row]:
    """How much room tier 1 leaves, and what is left of tier 2 once capability is taken out."""
    best = float(table["t1"].max()) / 100  # type: ignore[arg-type]
    yield claim(
        "table 1", "tier 1 tells models apart over its range", "largest T1 of 35 models", FAILS, best,
        low=float(table["t1"].min()) / 100, high=best,  # type: ignore[arg-type]
        expected="0.5 for who changes nothing", note="low and high: range over models, of a scale of 0 to 1",
    )  # fmt: skip
    t2, mas = table["t2"].to_numpy(), table["mas"].to_numpy()
    r = float(np.corrcoef(t2, mas)[0, 1])
    yield claim(
        "table 1", "tier 2 is robustness, not capability", "share of T2's variance left after MAS",
        HOLDS if 1 - r * r > 0.5 else FAILS, 1 - r * r, expected="1 if T2 had nothing to do with capability, 0 if all",
    )  # fmt: skip


def _changes(table: pl.DataFrame) -> Iterator[Row]:
    signs = np.sign(table.select("adversarial_delta", "stripped_delta").to_numpy())
    off = int((signs[:, 0] != signs[:, 1]).sum())
    yield claim(
        "table S7", "two dimensions are needed to place models on the map", "models whose changes differ in sign",
        FAILS if off < len(signs) / 2 else HOLDS, float(off), expected=f"{len(signs) / 2:g} of {len(signs)} if unrelated",
        note=f"{off} of {len(signs)} lie off the diagonal; changes include their scoring part",
    )  # fmt: skip


def _open() -> Iterator[Row]:
    for text, method in (
        ("dimensions agree more within an ability than between abilities", "ρ within and between abilities"),
        ("results do not depend on the map of confidences", "MMS with other maps"),
    ):
        yield headlines.waiting(text, method, _UNPUBLISHED, "no difference")


def _rho(one: Floats, other: Floats) -> float:
    return spearman(one, other).value or 0.0
