"""What a model is moved by: one rule on its signed pulls (`pull`) names its place on the map and its character.

The map has the pull of the statistic on one axis and that of the arguments on the other, both under an inverted consensus,
where the two part. The paper's map has changes of MMS instead, which scores replies there by other rules, and labels eleven
models in words without a rule; `profile` is the simplest one that gives ten of these labels from the printed changes.

A place and a character rest on `LEAST_CASES` instances, as many as gate G10 wants known answers.
"""

from __future__ import annotations

from collections.abc import Mapping

from metacog_pipeline.stats.estimate import Estimate

PROFILES = (
    "statistics-follower",
    "consensus-dependent",
    "counter-consensus",
    "argument consumer",
    "argument-evaluator",
    "independent",
)
CHARACTERS = ("argument-follower", "crowd-follower", "stubborn", "hedger", "random", "silent")
LEAST_CASES = 18
NOT_ENOUGH, OPEN = "not enough", "not told apart"
# In points of MMS (0..100).
SWAYED_FROM, STRONGLY_FROM, NEEDS_ARGUMENTS_FROM = 2.0, 6.0, 4.0
# Shares of claims.
HEDGES_FROM, ERRATIC_FROM = 0.9, 0.5
LEAST_PULL = 0.05  # of the scale, a quarter of the step between two labels: less is no pull, however surely it is there


def quadrant(crowd: Estimate, arguments: Estimate) -> str:
    """Return whether statistic and arguments pull, push away, or neither, by their intervals."""
    return f"crowd {_sign(crowd)}, arguments {_sign(arguments)}"


def profile(adversarial: float, stripped: float) -> str:
    """Return the label of a printed model from both changes of its MMS against ``normal``, in points of 0..100."""
    if adversarial > SWAYED_FROM:
        return "statistics-follower" if adversarial >= STRONGLY_FROM else "consensus-dependent"
    if adversarial < -SWAYED_FROM:
        return "counter-consensus"
    if stripped >= 0:
        return "independent"
    return "argument consumer" if stripped <= -NEEDS_ARGUMENTS_FROM else "argument-evaluator"


def habit(shares: Mapping[str, float | None]) -> str | None:
    """Return silent, hedger or random of who would answer so whatever is shown, None of everybody else.

    ``shares``, all 0..1 under ``normal``: ``coverage``, ``epistemic_cowardice`` (hedged ratings), ``self_revision_rate``
    (claims rated otherwise after looking over the own answer, with nothing new to read).
    """
    hedged, revised = shares.get("epistemic_cowardice"), shares.get("self_revision_rate")
    if shares.get("coverage") == 0:
        return "silent"
    if hedged is not None and hedged >= HEDGES_FROM:
        return "hedger"
    return "random" if revised is not None and revised >= ERRATIC_FROM else None


def character(crowd: Estimate, arguments: Estimate) -> str:
    """Return who a respondent follows: the source that surely pulls, the statistic before the arguments; else itself.

    "not told apart" where an interval holds both no pull and one of `LEAST_PULL`.
    """
    if crowd.n < LEAST_CASES or crowd.low is None:
        return NOT_ENOUGH
    if crowd.low > 0 and (crowd.value or 0.0) >= LEAST_PULL:
        return "crowd-follower"
    if arguments.n < LEAST_CASES or arguments.low is None:
        return NOT_ENOUGH
    if arguments.low > 0 and (arguments.value or 0.0) >= LEAST_PULL:
        return "argument-follower"
    return "stubborn" if _small(crowd) and _small(arguments) else OPEN


def _small(pull: Estimate) -> bool:
    return all(end is not None and abs(end) < LEAST_PULL for end in (pull.low, pull.high))


def _sign(pull: Estimate) -> str:
    if pull.low is None or pull.high is None:
        return "unknown"
    return "pulls" if pull.low > 0 else "pushes" if pull.high < 0 else "open"
