"""How far the instruments of a study can be trusted: policies that do not read its questions, and known faults.

Policies are tried on the study's own items each time all models are compared; what respondents have to show is tried by
`check_benchmark`, and what it finds in the benchmarks of this package is listed in ``data/red_instruments.csv``.
"""

from __future__ import annotations

import polars as pl

from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.policies import verdicts
from metacog_pipeline.errors import one_line, reason_of
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring.schemas import INSTRUMENT

BLIND = "blind policy"


def listed(benchmark: str) -> dict[tuple[str, str], str]:
    """Return the known faults of a benchmark of this package, the reason by rule and instrument."""
    rows = pl.read_csv(shipped("data", "red_instruments.csv"), glob=False).filter(benchmark=benchmark)
    return {(rule, instrument): why for _, rule, instrument, why in rows.iter_rows()}


def instruments(benchmark: Bound) -> tuple[pl.DataFrame, str | None]:
    """Return one row per instrument and policy, or known fault, in `INSTRUMENT`; and why there are no policies."""
    rows: list[tuple[object, ...]] = [
        (benchmark.name, instrument, rule, None, None, None, None, None, True, why)
        for (rule, instrument), why in listed(benchmark.name).items()
        if rule != BLIND
    ]
    failed = None
    try:
        for each in verdicts(benchmark.probes()):
            of = (each.policy, each.value, each.chance, each.high, each.n, each.wins)
            rows.append((benchmark.name, each.instrument, BLIND, *of, None))
    except Exception as error:  # what a stranger's class declares may be anything
        failed = one_line(f"{benchmark.name}_instruments: {reason_of(error)}")
    return pl.DataFrame(rows, schema=INSTRUMENT, orient="row"), failed
