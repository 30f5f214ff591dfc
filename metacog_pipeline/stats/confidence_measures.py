"""What confidence is worth, in one call: ranking, calibration as a whole, and calibration after a change of scale."""

from __future__ import annotations

from collections.abc import Mapping

from metacog_pipeline.stats import calibration_line, recalibration, selective
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.trials import Trials

RANKING = ("aurc", "excess_aurc", "prr")
SCALED = (
    "calibration_in_the_large", "calibration_slope", "ece_mass", "ece_platt", "brier_platt", "ece_isotonic",
    "brier_isotonic",
)  # fmt: skip


def of_trials(made: Trials, *, probability: bool = True) -> Mapping[str, Estimate]:
    """Return all measures of ``made``, answers as counts with their resamples.

    ``probability`` says whether confidences are probabilities, 0..1; otherwise only their order counts.

    >>> from metacog_pipeline.stats.trials import trials
    >>> list(of_trials(trials([3, 5], [0, 1]), probability=False))
    ['aurc', 'excess_aurc', 'prr']
    """
    ranked = selective.of_trials(made)
    found = {name: getattr(ranked, name) for name in RANKING}
    if not probability:
        return found
    if made.n and not (made.stated[0] >= 0.0 and made.stated[-1] <= 1.0):
        raise ValueError(f"confidences {made.stated[0]} to {made.stated[-1]} are outside 0..1")
    return {
        **found,
        "calibration_in_the_large": calibration_line.in_the_large(made),
        "calibration_slope": calibration_line.slope(made),
        "ece_mass": calibration_line.mass_ece(made),
        **recalibration.recalibrated(made),
    }
