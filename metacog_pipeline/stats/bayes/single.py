"""Bayesian meta-d′ of one subject (or one model on one task), with convergence as part of the result.

The density is that of :mod:`metacog_pipeline.stats.bayes.density` (HMeta-d's single-subject model, Fleming 2017), drawn
from by :mod:`metacog_pipeline.stats.bayes.sampler`: 64 chains from starts twice as wide as the normal approximation.

A posterior yields numbers only when every parameter, c₁, each criterion and the ratio included, passes
:mod:`metacog_pipeline.stats.bayes.gate`; else status is ``not_converged`` and no number comes out.
The published fits of this model show why c₁ and the criteria count: an unused rating beside c₁ slows
one-at-a-time samplers so much that a default run stops far from the posterior.

Why a sampler of our own: on 20,000 trials with five ratings a density and gradient of 64 chains is some 0.2 ms of NumPy,
and a draw takes about two of them, so warm-up and 32,000 draws are done in well under a second, before a probabilistic
programming library has compiled its model. ``tests/performance/test_bayes_speed.py`` measures it beside JAGS.

Random numbers: the stream is derived from the seed, the label, the counts and the kind of model. The same call gives the
same bytes; two different cells never share random numbers even under one seed, as a contrast of their draws
requires (shared numbers correlate the draws and make its interval wrong). Cells with equal counts need different
labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from metacog_pipeline.stats._arrays import MOST_DRAWN, Floats, whole
from metacog_pipeline.stats.bayes.density import SubjectModel, subject_model
from metacog_pipeline.stats.bayes.draws import Diagnostic, Draws, Summary, diagnose, summarise, with_ratios
from metacog_pipeline.stats.bayes.gate import (
    CONVERGED,
    LEAST_ESS,
    NOT_CONVERGED,
    UNDEFINED_TYPE1,
    UNIDENTIFIED,
    random_stream,
    require,
    sample_until_sure,
)
from metacog_pipeline.stats.bayes.starts import mode, overdispersed
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.estimate import OK, Estimate, unavailable
from metacog_pipeline.stats.identifiability import RATIO_UNSTABLE

ZERO_DPRIME = "zero_dprime"

CHAINS = 64
WARMUP = 200
DRAWS = 500
ROUNDS = 4
# No further round once the density was called this often (64 chains a call): a posterior that needs more is said not to
# have converged instead of keeping its caller waiting.
MOST_CALLS = 30_000
NO_FLOOR = 1e-12
METHOD = "posterior mean, 95% equal-tailed"
METHOD_MEDIAN = "posterior median, 95% equal-tailed"


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The posterior of one cell.

    Attributes
    ----------
    status, reason
        ``"converged"``; ``"not_converged"``; ``"undefined_type1"`` (a stimulus class without trials);
        ``"unidentified"`` (one rating used on either side, or K = 1: only the prior would speak). All but the first
        come with a reason and without numbers.
    draws
        By name, ``(chains, draws)``: ``d1``, ``c1``, ``meta_d``, ``m_ratio``, ``m_diff`` (``meta_d_rs1``, ``meta_d_rs2``,
        … when conditional on the response); criteria ``t2c_rs1``, ``t2c_rs2`` ``(chains, draws, K-1)``, ascending.
        Fixed d₁ and c₁ are constant. Empty unless converged.
    diagnostics
        R̂ and effective sample sizes of every parameter that moves; also of a run that has not converged.
    unconverged_draws
        What a run that has not converged drew: to look at, never to report.
    n, ratings
        Trials and K.
    label, seed, estimate_dprime, conditional
        As asked for.
    """

    status: str
    reason: str
    draws: Draws
    diagnostics: Mapping[str, Diagnostic]
    n: float
    ratings: int
    label: str
    seed: int
    estimate_dprime: bool
    conditional: bool
    unconverged_draws: Draws = field(default_factory=dict, repr=False)

    @property
    def converged(self) -> bool:
        """Whether there are numbers."""
        return self.status == CONVERGED

    def summary(self) -> dict[str, Summary]:
        """Return mean, sd, median, intervals, errors and diagnostics by parameter; criteria as ``t2c_rs1[1]``, ….

        Empty unless the posterior has converged. Where every ratio is positive, ``log_m_ratio`` is there too. Fixed
        parameters have no posterior and no row.
        """
        if not self.converged:
            return {}
        draws, known = dict(self.draws), dict(self.diagnostics)
        for name in [name for name in draws if name.startswith("m_ratio")]:
            if bool((draws[name] > 0).all()):
                draws[f"log_{name}"] = np.log(draws[name])
                known[f"log_{name}"] = known[name]  # ranks are the same on both scales
        return summarise(draws, known)

    def estimates(self) -> dict[str, Estimate]:
        """Return ``d1``, ``c1`` (when estimated), ``meta_d``, ``m_ratio``, ``m_ratio_median``, ``m_diff`` as estimates.

        Value: posterior mean (``m_ratio_median``: median, the robust choice near d′ = 0); ends: 2.5 % and 97.5 %
        quantiles; ``sem``: posterior standard deviation. Without convergence none has a value and all tell the status.
        Where draws of d₁ have either sign, ``m_ratio`` keeps its value under the status ``"d' may be 0"``: its mean is
        then ruled by few draws.
        """
        reported = self._reported()
        rows = (
            {} if not self.converged
            else summarise({name: self.draws[name] for name in reported if name in self.draws}, self.diagnostics)
        )  # fmt: skip
        result = {}
        for name in reported:
            if name.startswith("m_ratio"):
                median = "m_ratio_median" + name.removeprefix("m_ratio")
                result[name] = self._estimate(rows.get(name), METHOD, name)
                result[median] = self._estimate(rows.get(name), METHOD_MEDIAN, name)
            else:
                result[name] = self._estimate(rows.get(name), METHOD, name)
        return result

    def _reported(self) -> list[str]:
        sides = ("_rs1", "_rs2") if self.conditional else ("",)
        names = ["d1", "c1"] if self.estimate_dprime else []
        return names + [measure + side for side in sides for measure in ("meta_d", "m_ratio", "m_diff")]

    def _estimate(self, row: Summary | None, method: str, name: str) -> Estimate:
        n = int(self.n)
        if not self.converged:
            return unavailable(n, method, self.status)
        if row is None:
            return unavailable(n, method, ZERO_DPRIME)
        value, status = row.mean, OK
        if method == METHOD_MEDIAN:
            value = row.median
        elif name.startswith("m_ratio") and self._either_sign():
            status = RATIO_UNSTABLE
        sd = row.sd if math.isfinite(row.sd) else None
        return Estimate(value, row.q025, row.q975, n, method, status, sem=sd)

    def _either_sign(self) -> bool:
        above = self.draws["d1"] > 0
        return bool(above.any()) and not bool(above.all())


def bayes_metad(
    table: Counts, *, estimate_dprime: bool = True, conditional: bool = False, seed: int, label: str = "",
    draws: int = DRAWS, chains: int = CHAINS, warmup: int = WARMUP, rounds: int = ROUNDS,
    least_ess: float = LEAST_ESS,
) -> Posterior:  # fmt: skip
    """Return the posterior of one cell.

    Parameters
    ----------
    table
        Counts of one cell, not padded: the model needs no correction.
    estimate_dprime
        True: d₁ and c₁ are parameters. False: they are fixed at the estimates of counts + 1/(2 K) a cell.
    conditional
        One meta-d a response instead of one for both.
    seed, label
        0 or more, and a name of the cell; with the counts they determine the random numbers.
    draws, chains, warmup
        Kept iterations a chain in the first round, chains, iterations for tuning in the first round.
    rounds
        How often sampling may be tried, each time from where the chains stand with twice the iterations of both kinds;
        fewer times where the density takes very many steps.
    least_ess
        What bulk and tail effective sample sizes must exceed, 400 or more.

    Raises
    ------
    ValueError
        For several cells, padded counts, more than 1e18 trials, a negative seed, fewer than 4 chains or draws, or a
        threshold below 400.

    Examples
    --------
    >>> table = Counts(np.array([[60.0, 40, 25, 15]]), np.array([[10.0, 20, 45, 65]]))
    >>> found = bayes_metad(table, seed=1)
    >>> found.status, 0.5 < found.estimates()["m_ratio"].value < 1
    ('converged', True)
    """
    seed, draws, chains = whole("seed", seed), whole("draws", draws, 4), whole("chains", chains, 4)
    warmup, rounds = whole("warmup", warmup), whole("rounds", rounds, 1)
    if table.cells != 1:
        raise ValueError(f"the table has {table.cells} cells: one at a time, use take")
    require(table, least_ess)
    if not float(table.n[0]) <= MOST_DRAWN:
        raise ValueError(f"the cell has {float(table.n[0]):g} trials, more than {MOST_DRAWN:g}")
    n_s1, n_s2 = table.n_s1[0], table.n_s2[0]
    about = (float(table.n[0]), table.ratings, label, seed, estimate_dprime, conditional)
    status, reason = _hopeless(n_s1, n_s2)
    if status:
        return Posterior(status, reason, {}, {}, *about)
    model = subject_model(n_s1, n_s2, estimate_dprime=estimate_dprime, conditional=conditional)
    kind = (model.ratings_given.shape, model.fixed is None, model.conditional)
    stream = random_stream(seed, label, kind, model.ratings_given)
    found = sample_until_sure(
        model, _starts(model, chains, stream), stream, read=partial(_read, model), diagnose=diagnose, draws=draws,
        warmup=warmup, rounds=rounds, least_ess=least_ess, most_calls=MOST_CALLS,
    )  # fmt: skip
    if found.reason:
        return Posterior(NOT_CONVERGED, found.reason, {}, found.diagnostics, *about, found.draws)
    return Posterior(CONVERGED, "", found.draws, found.diagnostics, *about)


def _read(model: SubjectModel, kept: Floats) -> dict[str, Floats]:
    return with_ratios(model.parameters(kept))


def _hopeless(n_s1: Floats, n_s2: Floats) -> tuple[str, str]:
    """Return status and reason where data cannot speak about meta-d, else empty strings."""
    for name, row in (("S1", n_s1), ("S2", n_s2)):
        if not row.any():
            return UNDEFINED_TYPE1, f"no trial has stimulus {name}"
    used = (n_s1 + n_s2).reshape(2, -1) > 0
    if bool((used.sum(axis=1) <= 1).all()):
        return UNIDENTIFIED, "at most one rating is used with either response"
    return "", ""


def _starts(model: SubjectModel, chains: int, stream: np.random.SeedSequence) -> Floats:
    smooth, _ = mode(replace(model, floor=NO_FLOOR), model.guess())
    centre, factor = mode(model, smooth)
    return overdispersed(model, centre, factor, chains, stream.spawn(1)[0])
