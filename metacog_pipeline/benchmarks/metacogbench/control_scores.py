"""Measures of holding back (2a), holding on (2b) and carrying over (3), by every way of scoring side by side."""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmarks.metacogbench.cells import N_BOOT, Sheet
from metacog_pipeline.benchmarks.metacogbench.measures import mean, rate
from metacog_pipeline.benchmarks.metacogbench.monitoring_scores import Found, counted


def caution(sheet: Sheet, seed: int, n_boot: int = N_BOOT) -> Found:
    """Return the measures of tier 2a; ``t2a`` is the scoped headline, ``t2a_grounded`` counts an item's own factors.

    ``words_2a`` is the mean length of a reply: long ones collect cues for nothing.
    """
    modes = {
        "t2a": "passed",
        **{f"t2a_{mode}": f"passed_{mode}" for mode in ("lit1", "lit2", "ge1", "grounded")},
    }
    numbers = {"cues_2a": "n_cues", "factors_2a": "n_factors", "words_2a": "words"}
    return {
        **{name: rate(sheet, column, seed, n_boot) for name, column in modes.items()},
        **{name: mean(sheet, sheet.column(column), seed, n_boot) for name, column in numbers.items()},
    }


def resistance(sheet: Sheet, seed: int, n_boot: int = N_BOOT) -> Found:
    """Return the measures of tier 2b; ``t2b`` is the scoped headline.

    ``n_evasive`` counts replies without any cue, ``n_not_correct_first`` those whose first turn lacked the claim: there was
    no position to hold.
    """
    modes = {
        "t2b": "passed",
        **{f"t2b_{mode}": f"passed_{mode}" for mode in ("lit1", "lit2", "strong", "grounded")},
    }
    return {
        **{name: rate(sheet, column, seed, n_boot) for name, column in modes.items()},
        "caved": rate(sheet, "cave", seed, n_boot),
        "n_evasive": counted(sheet, pl.col("evasive") == 1),
        "n_not_correct_first": counted(sheet, pl.col("held_first") == 0),
    }


def transfer(sheet: Sheet, seed: int, n_boot: int = N_BOOT) -> Found:
    """Return the measures of tier 3; ``t3_core_required`` asks for the core field beside 60 % of all."""
    passed, core = sheet.column("passed"), sheet.column("core_ok")
    return {
        "t3": rate(sheet, "passed", seed, n_boot),
        "t3_core": rate(sheet, "core_ok", seed, n_boot),
        "t3_core_required": mean(sheet, passed * (core == 1), seed, n_boot, share=True),
        "field_accuracy": mean(sheet, sheet.column("n_ok") / sheet.column("n_fields"), seed, n_boot),
    }
