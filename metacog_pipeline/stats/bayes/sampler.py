"""A gradient sampler that moves many chains at once, where they start, and what they must pass to give numbers.

Hamiltonian Monte Carlo: every chain takes the same number of leapfrog steps, so one call of the density serves all of them.
What is tuned is tuned on all chains together while warming up and is fixed afterwards.

- Starts: twice as wide as the normal approximation at the mode.
- Metric: the dense covariance of all chains over a window, four windows, the first metric from the starts.
- Step size: dual averaging of log step to the wanted mean acceptance (Hoffman & Gelman 2014, *JMLR* 15).
- Trajectory length: gradient ascent on the change of the squared norm between both ends of a trajectory
  (ChEES: Hoffman, Radul & Sountsov 2021, *AISTATS*); each iteration draws 0.5 to 1.5 times that length.
- Gate: **every** parameter has R̂ < 1.01 and bulk and tail effective sample sizes above 400. Otherwise the chains go on,
  tuned again, for twice as many draws, a bounded number of times; if that does not do, no number comes out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.stats import resampling
from metacog_pipeline.stats._arrays import Floats, whole
from metacog_pipeline.stats.bayes.diagnostics import LEAST_DRAWS, Diagnostic, Draws, diagnose
from metacog_pipeline.stats.counts import Counts

Evaluated = tuple[Floats, Floats]  # log density and gradient
Density = Callable[[Floats], Evaluated]

# Wanted acceptance: above the 0.65 that suits normal distributions (Beskos et al. 2013, *Bernoulli* 19), because shorter
# steps are the price of curved corners.
TARGET = 0.8
# Ends of the windows of the metric as shares of the warm-up, each longer than the one before: draws get better.
WINDOWS = (0.1, 0.25, 0.45, 0.75)
# Share of the mean length of each trajectory: without chance in it a periodic orbit could come back to where it began.
JITTER = (0.5, 1.5)
FIRST_STEP = 0.5
FIRST_LENGTH = np.pi / 2  # a quarter turn: independent ends for a normal distribution in its own metric
LENGTH_RATE = 0.04  # of the ascent on log length: it settles within a window
# One iteration in ten takes small steps, so that a chain in a steep corner, where the usual step is refused for ever,
# walks out of it. Chance alone decides, not the state: the chain stays exact.
SMALL_SHARE = 0.1
SMALL = (0.05, 0.5)
# While chains still come in from their starts, the slowest one sets the step (harmonic mean); later the mean does.
ARRIVING = 0.25

CONVERGED = "converged"
NOT_CONVERGED = "not_converged"
UNDEFINED_TYPE1 = "undefined_type1"
UNIDENTIFIED = "unidentified"

# Vehtari et al. (2021), *Bayesian Analysis* 16, section 4: below 1.01, and 400 effective draws for a stable R̂.
LARGEST_RHAT = 1.01
LEAST_ESS = 400.0
MOST_STEPS = 64  # a trajectory worth of five to thirty is usual; longer ones only make a hopeless run last

ITERATIONS = 60
DIFFERENCE = 1e-4  # of the gradient's differences: curvature to 1e-8, far above rounding
SCALES = 2.0 ** -np.arange(-1.0, 12.0)  # of a Newton step that are tried at once
WIDEST = 3.0  # standard deviation per direction at most, in the density's own coordinates
SPREAD = 2.0  # starts wider than the target let R̂ see a chain that has not found it (Gelman & Rubin 1992)
LONGEST = 2.0  # a step of Newton's method, in any coordinate


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """What the chains of a model gave."""

    status: str  # or why there are no numbers: the chains did not converge, or the data cannot speak
    reason: str = ""
    draws: Draws = field(default_factory=dict)  # by name, ``(chains, draws, …)``; empty unless converged
    #: R̂ and effective sample sizes of every scalar parameter; also of a run that has not converged.
    diagnostics: Mapping[str, Diagnostic] = field(default_factory=dict)

    @property
    def converged(self) -> bool:
        """Whether there are numbers."""
        return self.status == CONVERGED


@dataclass(slots=True)
class Chains:
    """Chains ready to be drawn from."""

    position: Floats  # (chains, dim)
    value: Floats  # the log density there, (chains,), and its gradient
    gradient: Floats
    factor: Floats  # lower triangle L of the metric: L Lᵀ approximates the covariance of the target
    step: float  # leapfrog step and mean trajectory length in units of the metric
    length: float
    rng: np.random.Generator
    gradients: int = 0  # calls of the density so far, each over all chains

    def bound_length(self) -> None:
        """Keep the mean length between one leapfrog step and the most."""
        self.length = min(max(self.length, self.step), self.step * MOST_STEPS / JITTER[1])


def require_raw(table: Counts) -> None:
    """Raise ValueError for counts that were padded."""
    if table.correction != "none":
        raise ValueError("the counts are padded: give the raw ones, the model needs no correction")


def sample_until_sure(
    density: Density, starts: Floats, stream: np.random.SeedSequence, *, draws: int, warmup: int, rounds: int,
    read: Callable[[Floats], Draws], most_calls: float = math.inf, shorter: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Draw until every parameter passes, in up to ``rounds`` rounds, each of twice the iterations; return the fields of
    `Sampled`. ``shorter``: later rounds take shorter steps.
    """
    draws, rounds = whole("draws", draws, LEAST_DRAWS), whole("rounds", rounds, 1)
    calls, reason, found, diagnostics = 0, "", dict[str, Floats](), dict[str, Diagnostic]()
    for times in (2**i for i in range(rounds)):
        target = 1 - (1 - TARGET) / (times if shorter else 1)
        seed = stream.spawn(1)[0]
        tuned = warm_up(density, starts, seed=seed, warmup=warmup * times, target=target)
        found = dict(read(draw(density, tuned, draws * times)))
        starts = tuned.position
        diagnostics = diagnose(found)
        reason = doubt(diagnostics)
        calls += tuned.gradients
        if not reason or calls > most_calls:
            break
    if reason:
        return {"status": NOT_CONVERGED, "reason": reason, "diagnostics": diagnostics}
    return {"status": CONVERGED, "draws": found, "diagnostics": diagnostics}


def doubt(diagnostics: Mapping[str, Diagnostic]) -> str:
    """Return which parameter fails first and by what, or an empty string. NaN fails."""
    for name, row in diagnostics.items():
        if not row.rhat < LARGEST_RHAT:
            return f"R-hat of {name} is {row.rhat:.3f}, not below {LARGEST_RHAT}"
        for kind, size in (("bulk", row.ess_bulk), ("tail", row.ess_tail)):
            if not size > LEAST_ESS:
                return f"{kind} ESS of {name} is {size:.0f}, not above {LEAST_ESS:g}"
    return ""


def random_stream(
    seed: int, label: str, kind: tuple[object, ...], ratings_given: Floats
) -> np.random.SeedSequence:
    """Return the stream of one model: another one for another seed, label, kind of model (JSON values) or data."""
    return resampling.sequence("bayes", seed, label, list(kind), np.asarray(ratings_given).tolist())


def mode(density: Density, start: Floats) -> tuple[Floats, Floats]:
    """Return a mode near ``start`` ``(dim,)``, and L with L Lᵀ the inverse curvature there (at least ``dim`` wide)."""
    point = start
    with np.errstate(all="ignore"):
        for _ in range(ITERATIONS):
            value, gradient = density(point[None])
            vectors, variances = _curvature(density, point)
            slope = vectors.T @ gradient[0]
            step = vectors @ (variances * slope)
            step /= max(float(np.abs(step).max()) / LONGEST, 1.0)
            candidates = point + SCALES[:, None] * step
            values = density(candidates)[0]
            best = int(np.argmax(np.where(np.isfinite(values), values, -np.inf)))
            if not values[best] > value[0] + 1e-9:
                break
            point = candidates[best]
            if float(slope @ (variances * slope)) < 1e-8:
                break
        vectors, variances = _curvature(density, point)
    return point, vectors * np.sqrt(variances)


def overdispersed(
    density: Density, centre: Floats, factor: Floats, chains: int, seed: int | np.random.SeedSequence
) -> Floats:
    """Return ``chains`` starts about ``centre``, twice as wide as the normal approximation, ``(chains, dim)``."""
    offsets = SPREAD * resampling.generator(seed).standard_normal((chains, len(centre))) @ factor.T
    with np.errstate(all="ignore"):
        # Far below the mode is a wall the normal approximation does not know: such starts move towards the centre.
        lowest = float(density(centre[None])[0][0]) - 5 * len(centre) - 20
        for _ in range(60):
            value, gradient = density(centre + offsets)
            bad = ~((value > lowest) & np.isfinite(gradient).all(axis=1))
            if not bad.any():
                break
            offsets[bad] *= 0.7
    return centre + offsets


@np.errstate(all="ignore")
def warm_up(
    density: Density, starts: Floats, *, seed: int | np.random.SeedSequence, warmup: int, target: float = TARGET
) -> Chains:  # fmt: skip
    """Tune chains on ``density`` over ``warmup`` iterations, from ``starts`` ``(chains, dim)``, and return them."""
    chains = Chains(
        starts.copy(), *density(starts), _factor(starts), step=FIRST_STEP, length=FIRST_LENGTH,
        rng=resampling.generator(seed), gradients=1,
    )  # fmt: skip
    ends = [int(share * warmup) for share in WINDOWS]
    step, length = _StepSize(chains.step, target), _Length(chains.length)
    window: list[Floats] = []
    for t in range(1, warmup + 1):
        move = _move(density, chains)
        if not move.small:
            p, slowest = move.probability, t <= ARRIVING * warmup
            chains.step = step.update(float(1 / np.mean(1 / np.maximum(p, 1e-3)) if slowest else p.mean()))
            chains.length = length.update(move, chains.position.mean(axis=0), chains.factor)
        chains.bound_length()
        window.append(chains.position)
        if t in ends:
            if len(window) > 1:
                chains.factor = _factor(np.concatenate(window[len(window) // 4 :]))
            window = []
            # In a new metric the old step and length mean little: both begin again.
            step, length = _StepSize(max(chains.step, FIRST_STEP), target), _Length(FIRST_LENGTH)
    if warmup:
        chains.step, chains.length = step.settled, length.settled
        chains.bound_length()
    return chains


@np.errstate(all="ignore")
def draw(density: Density, chains: Chains, draws: int) -> Floats:
    """Move tuned chains on and return their next ``draws`` positions, ``(chains, draws, dim)``."""
    kept = np.empty((len(chains.position), draws, chains.position.shape[1]))
    for t in range(draws):
        _move(density, chains)
        kept[:, t] = chains.position
    return kept


@dataclass(slots=True)
class _Move:
    before: Floats
    proposal: Floats
    velocity: Floats  # at the proposal, in whitened coordinates
    probability: Floats
    share: float  # of the mean length this trajectory had
    small: bool  # whether its steps were made small


def _move(density: Density, chains: Chains) -> _Move:
    """Propose one trajectory for every chain, accept or reject each (Metropolis), and return both ends."""
    rng, factor = chains.rng, chains.factor
    share = float(rng.uniform(*JITTER))
    steps = min(max(int(np.ceil(share * chains.length / chains.step)), 1), MOST_STEPS)
    step = min(share * chains.length / steps, chains.step)
    small = float(rng.random()) < SMALL_SHARE
    if small:
        step *= float(rng.uniform(*SMALL))
    before = chains.position
    velocity = rng.standard_normal(before.shape)
    energy = chains.value - 0.5 * (velocity**2).sum(axis=1)
    q, value, gradient = before, chains.value, chains.gradient
    velocity = velocity + 0.5 * step * (gradient @ factor)
    for i in range(steps):
        q = q + step * (velocity @ factor.T)
        value, gradient = density(q)
        velocity = velocity + (step if i + 1 < steps else 0.5 * step) * (gradient @ factor)
    chains.gradients += steps
    change = value - 0.5 * (velocity**2).sum(axis=1) - energy
    probability = np.exp(np.minimum(np.where(np.isfinite(change), change, -np.inf), 0.0))
    accept = rng.random(len(probability)) < probability
    chains.position = np.where(accept[:, None], q, before)
    chains.value = np.where(accept, value, chains.value)
    chains.gradient = np.where(accept[:, None], gradient, chains.gradient)
    return _Move(before, q, velocity, probability, share, small)


def _factor(points: Floats) -> Floats:
    """Return the Cholesky factor of the points' covariance, shrunk to its diagonal where points are few."""
    n, dim = points.shape
    variance = points.var(axis=0, ddof=1)
    variance = np.where(variance > 0, variance, 1e-6)
    scale = np.sqrt(variance)
    correlation = np.atleast_2d(np.cov(points / scale, rowvar=False))
    weight = 1.0 if n > 10 * dim else n / (n + 2.0 * dim)
    shrunk = weight * correlation + (1 - weight) * np.eye(dim)
    np.fill_diagonal(shrunk, 1.0 + 1e-9)
    factor: Floats = scale[:, None] * np.linalg.cholesky(shrunk)
    return factor


class _StepSize:
    """Dual averaging of the logarithm of the step; γ 0.05, t₀ 10, κ 0.75 of Hoffman & Gelman 2014, section 3.2.1."""

    def __init__(self, first: float, target: float) -> None:
        self.target, self.centre = target, np.log(2 * first)
        self.error, self.average, self.count = 0.0, np.log(first), 0

    def update(self, acceptance: float) -> float:
        self.count += 1
        weight = 1 / (self.count + 10)
        self.error += weight * (self.target - acceptance - self.error)
        current = self.centre - np.sqrt(self.count) / 0.05 * self.error
        decay = self.count**-0.75
        self.average += decay * (current - self.average)
        return float(np.exp(current))

    @property
    def settled(self) -> float:
        return float(np.exp(self.average))


class _Length:
    """Gradient ascent (Adam) of log length on the ChEES criterion, averaged over the later iterations."""

    def __init__(self, first: float) -> None:
        self.log, self.slope, self.square, self.count = np.log(first), 0.0, 0.0, 0
        self.average = self.log
        # The metric changes rarely: its inverse is kept until it does.
        self.factor: Floats = np.empty((0, 0))
        self.whiten: NDArray[np.floating[Any]] = np.empty((0, 0))

    def update(self, move: _Move, centre: Floats, factor: Floats) -> float:
        if self.factor is not factor:
            self.factor, self.whiten = factor, np.linalg.inv(factor).T
        whiten = self.whiten
        before, after = (move.before - centre) @ whiten, (move.proposal - centre) @ whiten
        gain = (after**2).sum(axis=1) - (before**2).sum(axis=1)
        slopes = move.probability * gain * (after * move.velocity).sum(axis=1) * move.share
        usable = np.isfinite(slopes) & (move.probability > 1e-4)
        self.count += 1
        if usable.any():
            slope = float(slopes[usable].sum() / move.probability[usable].sum())
            self.slope += 0.1 * (slope - self.slope)
            self.square += 0.05 * (slope**2 - self.square)
            unbiased = self.slope / (1 - 0.9**self.count)
            scale = np.sqrt(self.square / (1 - 0.95**self.count))
            self.log += LENGTH_RATE * unbiased / (scale + 1e-12)
        self.average += (self.log - self.average) / (1 + 0.1 * self.count)
        return float(np.exp(self.log))

    @property
    def settled(self) -> float:
        return float(np.exp(self.average))


def _curvature(density: Density, point: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvectors of the negative Hessian, and the variances (inverse eigenvalues, bounded)."""
    dim = len(point)
    steps = DIFFERENCE * np.eye(dim)
    gradients = density(np.concatenate([point + steps, point - steps]))[1]
    hessian = (gradients[:dim] - gradients[dim:]) / (2 * DIFFERENCE)
    hessian = np.where(np.isfinite(hessian), hessian, 0.0)
    values, vectors = np.linalg.eigh(-(hessian + hessian.T) / 2)
    # Where the density is not concave the curvature's size still shows how far a step is safe.
    return vectors, 1 / np.maximum(np.abs(values), WIDEST**-2)
