"""What the measures of the table `calibration` mean: label, unit, range, direction and definition of each.

They are declared in ``harmonised_measures.toml``; this module names the answers each rests on.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from metacog_pipeline.benchmark.measures import Measure, Unit, Where
from metacog_pipeline.stats.coverage import SHARED_PREFIX
from metacog_pipeline.stats.mafc.table import LARGEST_M

PREFIX = SHARED_PREFIX  # a benchmark may have an ECE of its own: what is not the same has another name
_STATED: Where = (("confidence", None),)
#: Of the harmonised answers with a confidence, those that were chosen among a known number of alternatives.
CHOSEN: Where = (*_STATED, ("n_alternatives", tuple(range(2, LARGEST_M + 1))))
#: What is measured of these (`stats.mafc.efficiency`).
OF_CHOICES = ("d_mafc", "meta_d_mafc", "m_ratio_mafc", "eta_mafc", "auroc2_ideal")
_BEST = {"lowest": False, "neither": None}
#: By the name without the prefix, in the order of the table.
DECLARED = tuple(
    Measure(
        name,
        said["label"],
        unit=Unit(said.get("unit", Unit.SHARE)),
        range=tuple(said.get("range", (0.0, 1.0))) or (None, None),
        higher_is_better=_BEST.get(said.get("best"), True),
        words=said["words"],
        rests_on=CHOSEN if name in OF_CHOICES else _STATED,
        shared=True,
    )
    for name, said in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
)
