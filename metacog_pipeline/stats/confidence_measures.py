"""What confidence is worth, in one call: ranking, calibration as a whole, and calibration after a change of scale."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from metacog_pipeline.stats import calibration_line, recalibration, resampling, selective
from metacog_pipeline.stats.estimate import Estimate
from metacog_pipeline.stats.trials import Trials, trials

RANKING = ("aurc", "excess_aurc", "prr")
SCALED = (
    "calibration_in_the_large", "calibration_slope", "ece_mass", "ece_platt", "brier_platt", "ece_isotonic",
    "brier_isotonic",
)  # fmt: skip
#: Every name that `measures` gives.
MEASURES = (*RANKING, *SCALED)


def measures(
    confidence: ArrayLike,
    correct: ArrayLike,
    items: ArrayLike | None = None,
    *,
    stream: resampling.Stream = 0,
    n_draws: int = 1000,
    probability: bool = True,
) -> Mapping[str, Estimate]:
    """Return the measures of `MEASURES`, each with interval, method and status.

    Parameters
    ----------
    confidence, correct
        Shape ``(N,)``: confidence, 0..1 unless ``probability`` is False, and 0/1 or booleans.
    items
        Shape ``(N,)``: the item of each answer (integers are fastest); None means one answer per item.
    stream, n_draws
        Seed and number of resamples.
    probability
        Whether confidence is a probability. Where it is not, only its order is used and the result has `RANKING` alone.

    Raises
    ------
    ValueError
        For a confidence that is no finite number, or outside 0..1 where it is a probability.

    Examples
    --------
    >>> found = measures([0.9, 0.8, 0.7, 0.6] * 10, [1, 1, 0, 1] * 10, stream=1)
    >>> {name: round(each.value, 3) for name, each in found.items() if each.value is not None and "_" not in name}
    {'aurc': 0.122, 'prr': 0.333}
    """
    made = trials(confidence, correct, items, stream=stream, n_draws=n_draws)
    return of_trials(made, probability=probability)


def of_trials(made: Trials, *, probability: bool = True) -> Mapping[str, Estimate]:
    """Return the same of answers that are counted and drawn already.

    Parameters
    ----------
    made
        Answers as counts with their resamples, of `trials`.
    probability
        Whether confidences are probabilities, 0..1; otherwise only their order counts.

    Examples
    --------
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
