"""Where the paper, its documents and its authors' package differ: named options, and two presets.

=============================  ==================================  ==================================================
option                         reference (the package)             paper
=============================  ==================================  ==================================================
labels                         .15 .35 .55 .80 .95                 .1 .3 .5 .7 .9
proportionality_base           change since step A                 change since B-private
proportionality_weight         number of raters                    disagreement
selectivity_weight             number of raters                    disagreement
volatility                     half entropy, half direction        1 - entropy
brier_outcome                  consensus > 0.5                     the consensus itself
cowardice                      share in the band 0.40..0.70        low variance
resistance                     size of the change                  (names direction, gives no formula)
held_low_pressure              0.7                                 (not listed)
verified_wrong                 taken into account                  taken into account
balance                        1 - sd                              1 - sd / mean
tier_weights                   .334 .333 .333                      1/3 each
articulation                   the package's thirteen parts        (names seven of them)
flip_from                      1 - x                               1 - x
ability_map                    notebook                            notebook
ipsative_centre                the ten judged dimensions           the ten judged dimensions
=============================  ==================================  ==================================================

Judges of other families are combined by their median in both (`judging.combine` has the mean and a single judge, too).
Where the paper gives no formula its preset keeps the package's. The thresholds of the measures were tuned to the
package's labels: with the paper's, ``high`` (0.7) counts as hedging in the band of `cowardice`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from metacog_pipeline.benchmarks.medley.labels import PAPER_MAP, REFERENCE_MAP, LabelMap

AbilityMap = Literal[
    "notebook", "documents", "courage_self_regulates", "transparency_monitors", "grounding_controls"
]


@dataclass(frozen=True, slots=True)
class Options:
    """How instances are scored; every field is one point of the module's table.

    Attributes
    ----------
    scoring
        The name recorded beside every number.
    proportionality_base
        Whether changes are counted from step A or from B-private.
    resistance
        ``"direction"`` scores a move toward the analysts 0.1 where the consensus is wrong, and a move away from them
        0.2 where it is not and disagreement is high; ``"size"`` ignores where a change goes.
    held_low_pressure
        What staying put earns where analysts agree, 0..1.
    verified_wrong
        Whether claims on which the consensus was found wrong reward resistance.
    tier_weights
        Exponents of the three tiers.
    articulation
        Inventory of the third tier: the package's, or that of its documents, whose "epistemic humility" and "coherence"
        have no formula anywhere and drop out.
    flip_from
        Measures that are bad when high count as ``flip_from`` - x.
    """

    scoring: str = "reference"
    labels: LabelMap = REFERENCE_MAP
    proportionality_base: Literal["A", "P"] = "A"
    proportionality_weight: Literal["raters", "jsd"] = "raters"
    selectivity_weight: Literal["raters", "jsd"] = "raters"
    volatility: Literal["entropy_and_direction", "entropy"] = "entropy_and_direction"
    brier_outcome: Literal["threshold", "soft"] = "threshold"
    cowardice: Literal["band", "variance"] = "band"
    resistance: Literal["size", "direction"] = "size"
    held_low_pressure: float = 0.7
    verified_wrong: bool = True
    balance: Literal["sd", "relative_sd"] = "sd"
    tier_weights: tuple[float, float, float] = (0.334, 0.333, 0.333)
    articulation: Literal["package", "documents"] = "package"
    flip_from: float = 1.0
    ability_map: AbilityMap = "notebook"
    ipsative_centre: Literal["dimensions", "abilities"] = "dimensions"


REFERENCE = Options()
PAPER = replace(
    REFERENCE,
    scoring="paper",
    labels=PAPER_MAP,
    proportionality_base="P",
    proportionality_weight="jsd",
    selectivity_weight="jsd",
    volatility="entropy",
    brier_outcome="soft",
    cowardice="variance",
    balance="relative_sd",
    tier_weights=(1 / 3, 1 / 3, 1 / 3),
)
PRESETS = {preset.scoring: preset for preset in (REFERENCE, PAPER)}
