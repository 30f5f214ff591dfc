"""Bayesian meta-d′ of a group: the efficiency exp(μ_logM) of a population from few trials a subject.

The hierarchical model of HMeta-d (Fleming 2017, *Neuroscience of Consciousness* 3), N(mean, variance),
for subject i::

    d₁ᵢ ~ N(μ_d, σ_d²)      c₁ᵢ ~ N(μ_c, σ_c²)      hits, false alarms as for one subject
    K-1 cuts below c₁ᵢ ~ N(-μ_c2, σ_c2²), K-1 above it ~ N(μ_c2, σ_c2²), truncated there and normalised, then sorted
    log Mᵢ = μ_logM + ε δᵢ,  δᵢ ~ N(0, σ_δ²)        meta-dᵢ = Mᵢ d₁ᵢ         ratings as for one subject
    μ_d, μ_c, μ_c2 ~ N(0, 100)                      σ_d, σ_c, σ_c2 ~ half-N(0, 100)
    μ_logM ~ N(0, 1)       σ_δ ~ half-N(0, 1)       ε ~ Beta(1, 1)

Two exact rewritings make it easy to sample. ε and σ_δ enter as their product only, σ_logM = ε σ_δ: integrating ε out leaves
the prior p(σ) = E₁(σ²/2) / √(2 π) of the product (E₁ the exponential integral). And log Mᵢ = μ_logM + σ_logM zᵢ with
zᵢ ~ N(0, 1), so that a σ_logM near 0 leaves no funnel; d₁ᵢ and c₁ᵢ lie between this form and their own value, x = μ +
σ^(1-a) (u - a μ) with u ~ N(a μ, σ^(2a)): a near 1 for a subject whose data outweigh the population, near 0 for one with
few trials (Gorinova, Moore & Hoffman 2020, *ICML*). Any a is the same model. Standard deviations are sampled as logarithms,
cuts as log distances (`bayes.single`).

Two independent groups are fitted one by one and their ``exp(mu_log_m)`` compared by `decisions.compare`. Not offered: one
meta-d a response in a group, covariates, and tasks of the same subjects with a correlation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, exp1, ndtri

from metacog_pipeline.stats._arrays import Floats, whole
from metacog_pipeline.stats.bayes import sampler, single
from metacog_pipeline.stats.bayes.diagnostics import Summary, summarise
from metacog_pipeline.stats.bayes.sampler import UNDEFINED_TYPE1, UNIDENTIFIED, Sampled
from metacog_pipeline.stats.bayes.single import FAR, HAZARD, ROOT_2, SIGN, ratings_part, subject_model
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.estimate import Estimate, unavailable

WIDE = 100.0  # variance of the priors of locations and of the half-normal priors of spreads
HYPER = ("mu_d1", "sigma_d1", "mu_c", "sigma_c", "mu_c2", "sigma_c2", "mu_log_m", "sigma_log_m")
FAR_PRODUCT = 30.0  # E₁ is replaced by its asymptotic series where e^x E₁(x) would come out of two underflows

FEW_SUBJECTS = "few_subjects"

# R̂ of many short chains never gets below 1.01: chains enough to tune the metric on, and few enough to be long.
CHAINS = 16
WARMUP = 500
DRAWS = 1200
ROUNDS = 3
METHOD_EFFICIENCY = "exp of the posterior mean of log M, 95% equal-tailed"
LARGEST_DRAWS = 250_000_000  # numbers in one round's draws (2 GB)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GroupPosterior(Sampled):
    """The posterior of a group.

    Further statuses: ``"few_subjects"`` (a population needs two); ``"undefined_type1"``, ``"unidentified"`` where they hold
    of every subject. Draws: those of ``HYPER``; of each subject ``d1``, ``c1``, ``m_ratio``, ``meta_d``, and criteria
    ``t2c_rs1``, ``t2c_rs2``, ascending. ``m_ratio[3]``, ``t2c_rs1[3,2]``: of the third subject, both counted from 1.
    """

    n: float  # trials of all subjects
    subjects: int

    def summary(self) -> dict[str, Summary]:
        """Return the summary of each scalar parameter, and of ``efficiency``, exp(mu_log_m)."""
        if not self.converged:
            return {}
        draws = {**self.draws, "efficiency": np.exp(self.draws["mu_log_m"])}
        return summarise(draws, {**self.diagnostics, "efficiency": self.diagnostics["mu_log_m"]})

    def efficiency(self) -> Estimate:
        """Return the group's M-ratio exp(μ_logM): exp of the mean and of the ends of the interval of μ_logM."""
        if not self.converged:
            return unavailable(self.subjects, METHOD_EFFICIENCY, self.status)
        mu = self.draws["mu_log_m"]
        low, high = np.exp(np.quantile(mu, [0.025, 0.975]))
        sd = float(np.exp(mu).std(ddof=1))
        value = float(np.exp(mu.mean()))
        return Estimate(value, float(low), float(high), self.subjects, METHOD_EFFICIENCY, sem=sd)


def bayes_metad_group(
    table: Counts, *, seed: int, label: str = "", draws: int = DRAWS, rounds: int = ROUNDS
) -> GroupPosterior:
    """Return the posterior of a group: ``table`` has one subject per cell, not padded, all on one scale of ratings.

    Parameters and errors are those of `bayes_metad`; more draws than fit into memory are a ValueError too.
    """
    sampler.require_raw(table)
    seed = whole("seed", seed)
    n, subjects = float(table.n.sum()), table.cells
    status, reason = _hopeless(table)
    if status:
        return GroupPosterior(status=status, reason=reason, n=n, subjects=subjects)
    model = group_model(table.n_s1, table.n_s2)
    most = CHAINS * draws * 2 ** (rounds - 1) * model.dim
    if most > LARGEST_DRAWS:
        raise ValueError(
            f"{CHAINS} chains of up to {draws * 2 ** (rounds - 1)} draws in {model.dim} dimensions do not fit into "
            "memory: ask for fewer draws or rounds"
        )
    kind = ("group", model.ratings_given.shape, True)
    stream = sampler.random_stream(seed, label, kind, model.ratings_given)
    found = sampler.sample_until_sure(
        model, _starts(model, stream), stream, draws=draws, warmup=WARMUP, rounds=rounds, read=model.parameters,
        shorter=True,
    )  # fmt: skip
    return GroupPosterior(**found, n=n, subjects=subjects)


def _hopeless(table: Counts) -> tuple[str, str]:
    if table.cells < 2:
        why = "a population needs two, fit a single one with bayes_metad"
        return FEW_SUBJECTS, f"{table.cells} subject(s): {why}"
    used = (table.n_s1 + table.n_s2).reshape(table.cells, 2, -1) > 0
    if table.ratings < 2 or not bool((used.sum(axis=2) > 1).any()):
        return UNIDENTIFIED, "no subject uses two ratings with one response"
    empty = (table.n1 == 0) | (table.n2 == 0)
    if bool(empty.all()):
        return UNDEFINED_TYPE1, "no subject has trials of both stimulus classes"
    return "", ""


def _starts(model: GroupModel, stream: np.random.SeedSequence) -> Floats:
    """Return starts about the subjects' point estimates, wider than the posterior in every coordinate."""
    scale = np.full(model.dim, 0.15)  # twice that is drawn
    scale[: len(HYPER)] = 0.3
    first = len(HYPER) + 2 * model.subjects
    scale[first : first + model.subjects] = 0.5
    return sampler.overdispersed(model, model.guess(), np.diag(scale), CHAINS, stream.spawn(1)[0])


@dataclass(frozen=True, slots=True)
class GroupModel:
    """The density of a group. The coordinates of a point are the hyperparameters in the order of ``HYPER`` (spreads as
    logarithms), u of d₁ and of c₁ of all subjects, z of all subjects, and log distances of the cuts: response S1 first,
    from c₁ outwards, subjects fastest.
    """

    # (2, 2, K, subjects): trials by response (S1, S2), correct or incorrect, and confidence 1 .. K
    ratings_given: Floats
    centring: Floats  # (2, subjects): a of d₁ and of c₁, 0..1

    @property
    def ratings(self) -> int:
        """Number of confidence levels K."""
        return int(self.ratings_given.shape[2])

    @property
    def subjects(self) -> int:
        """Number of subjects."""
        return int(self.ratings_given.shape[3])

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(HYPER) + (3 + 2 * (self.ratings - 1)) * self.subjects

    def __call__(self, points: Floats) -> tuple[Floats, Floats]:
        """Return log density (up to a constant), ``(points,)``, and gradient of ``points`` ``(points, dim)``."""
        hyper, d1, c1, z, logs = self._split(points)
        mu_c2, log_c2, mu_m, log_m = hyper[-4:]
        sigma_m = np.exp(log_m)
        m_ratio = np.exp(mu_m + sigma_m * z)
        meta = m_ratio * d1
        widths = np.exp(logs)
        start = SIGN[:, :, None] * c1[None]
        edges = np.concatenate([start[:, None], start[:, None] + np.cumsum(widths, axis=1)], axis=1)
        counts = self.ratings_given[..., None]
        value, d_edges, d_meta = ratings_part(counts, counts.sum(axis=2, keepdims=True), edges, meta[None])
        d_meta = d_meta[0]
        part, by_edge, d_mu_c2, d_log_c2 = _cuts_part(edges, mu_c2, log_c2)
        value = value.sum(axis=0) + part + logs.sum(axis=(0, 1, 2)) - 0.5 * (z**2).sum(axis=0)
        d_edges += by_edge
        d_log_ratio = d_meta * meta
        gradient = np.empty((self.dim, points.shape[0]))
        n_hyper, n = len(HYPER), self.subjects
        part, d_d1, d_c1 = _type1_part(self.ratings_given, d1, c1)
        value += part
        d_d1 += d_meta * m_ratio
        d_c1 += (SIGN[:, :, None] * d_edges.sum(axis=1)).sum(axis=0)
        first = n_hyper
        rows = points.T[first : first + 2 * n].reshape(2, n, -1)
        for k, slope in enumerate((d_d1, d_c1)):
            a, mean, log_sigma = self.centring[k][:, None], hyper[2 * k], hyper[2 * k + 1]
            part, gradient[first : first + n], gradient[2 * k], gradient[2 * k + 1] = _population_part(
                rows[k], a, mean, log_sigma, slope
            )
            value += part
            first += n
        gradient[first : first + n] = d_log_ratio * sigma_m - z
        outwards = d_edges[:, :0:-1].cumsum(axis=1)[:, ::-1]
        gradient[first + n :] = (1 + widths * outwards).reshape(-1, points.shape[0])
        gradient[n_hyper - 4], gradient[n_hyper - 3] = d_mu_c2, d_log_c2
        gradient[n_hyper - 2] = d_log_ratio.sum(axis=0)
        gradient[n_hyper - 1] = (d_log_ratio * z).sum(axis=0) * sigma_m
        value += self._hyperpriors(hyper, gradient)
        return value, gradient.T

    def _hyperpriors(self, hyper: Floats, gradient: Floats) -> Floats:
        """Return the log prior of the hyperparameters, and add its slopes to ``gradient``."""
        value = np.zeros(hyper.shape[1])
        for k in range(0, len(hyper) - 2, 2):
            mean, log_sigma = hyper[k], hyper[k + 1]
            square = np.exp(2 * log_sigma)
            value += log_sigma - (mean**2 + square) / (2 * WIDE)
            gradient[k] -= mean / WIDE
            gradient[k + 1] += 1 - square / WIDE
        log_prior, slope = product_prior(hyper[-1])
        gradient[len(hyper) - 2] -= hyper[-2]
        gradient[len(hyper) - 1] += slope
        value += log_prior - hyper[-2] ** 2 / 2
        return value

    def _split(self, points: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return hyperparameters ``(., points)``, d₁, c₁, z ``(subjects, points)``, log distances."""
        rows = np.ascontiguousarray(points.T)
        n, count = self.subjects, rows.shape[1]
        hyper, rows = rows[: len(HYPER)], rows[len(HYPER) :]
        d1, c1 = (
            hyper[2 * k] + np.exp((1 - a) * hyper[2 * k + 1]) * (rows[k * n : (k + 1) * n] - a * hyper[2 * k])
            for k, a in enumerate(self.centring[:, :, None])
        )
        rows = rows[2 * n :]
        return hyper, d1, c1, rows[:n], rows[n:].reshape(2, self.ratings - 1, n, count)

    def parameters(self, points: Floats) -> dict[str, Floats]:
        """Return the parameters of points ``(..., dim)`` by name, cuts ascending."""
        shape = points.shape[:-1]
        hyper, d1, c1, z, logs = self._split(points.reshape(-1, self.dim))
        result = {
            name: (np.exp(row) if name.startswith("sigma") else row).reshape(shape)
            for name, row in zip(HYPER, hyper, strict=True)
        }
        m_ratio = np.exp(hyper[-2] + np.exp(hyper[-1]) * z)
        for name, table in (("d1", d1), ("c1", c1), ("m_ratio", m_ratio), ("meta_d", m_ratio * d1)):
            result[name] = table.T.reshape(*shape, self.subjects)
        offsets = np.cumsum(np.exp(logs), axis=1)
        for name, cuts in (("t2c_rs1", (c1 - offsets[0])[::-1]), ("t2c_rs2", c1 + offsets[1])):
            result[name] = cuts.transpose(2, 1, 0).reshape(*shape, self.subjects, self.ratings - 1)
        return result

    def guess(self) -> Floats:
        """Return a point near the mass: every subject's own point estimates and their spread, M-ratio 1."""
        own = np.moveaxis(self.ratings_given, 3, 0)
        table = np.array([single.SubjectModel(each).guess() for each in own])
        c1, d1, logs = table[:, 0], table[:, 1], table[:, 3:]
        cuts = np.cumsum(np.exp(logs.reshape(self.subjects, 2, -1)), axis=2).mean()
        last = [cuts, np.log(0.7), -0.1, np.log(0.3)]
        hyper, rows = [], []
        for a, values in zip(self.centring, (d1, c1), strict=True):
            mean, spread = values.mean(), max(values.std(), 0.1)
            hyper += [mean, np.log(spread)]
            rows.append(a * mean + (values - mean) * spread ** (a - 1))
        return np.concatenate([hyper, last, *rows, np.zeros(self.subjects), logs.T.reshape(-1)])


def group_model(n_s1: Floats, n_s2: Floats) -> GroupModel:
    """Return the model of a group from count vectors of shape ``(subjects, 2 K)``, K >= 2."""
    models = [subject_model(one, two) for one, two in zip(n_s1, n_s2, strict=True)]
    table = np.stack([model.ratings_given for model in models], axis=-1)
    return GroupModel(table, _centring(table))


def _centring(table: Floats) -> Floats:
    """Return a = σ² / (σ² + se²) of d₁ and of c₁ by subject, from log-linear estimates and their spread."""
    (cr, miss), (hit, fa) = table.sum(axis=2) + 0.5
    rates, trials = np.stack([hit / (hit + miss), fa / (fa + cr)]), np.stack([hit + miss, fa + cr])
    z = ndtri(rates)
    variance = (rates * (1 - rates) / trials * 2 * np.pi * np.exp(z**2)).sum(axis=0)
    result = []
    for values, square in ((z[0] - z[1], variance), (-(z[0] + z[1]) / 2, variance / 4)):
        between = max(values.var(ddof=1) - square.mean(), 0.05 * square.mean())
        result.append(between / (between + square))
    return np.array(result)


def product_prior(log_sigma: Floats) -> tuple[Floats, Floats]:
    """Return the log density of log σ, σ = ε σ_δ (up to a constant), and its slope in log σ."""
    x = 0.5 * np.exp(2 * np.minimum(log_sigma, 10.0))
    near = np.minimum(x, FAR_PRODUCT)
    # e^x E₁(x): exact below, and the first terms of its asymptotic series above, equal to 1e-6 where they meet.
    scaled = np.where(
        x < FAR_PRODUCT,
        exp1(near) * np.exp(near),
        (1 - 1 / x + 2 / x**2 - 6 / x**3 + 24 / x**4) / np.maximum(x, 1e-300),
    )
    return log_sigma + np.log(scaled) - x, 1 - 2 / scaled


def _population_part(
    rows: Floats, a: Floats, mean: Floats, log_sigma: Floats, slope: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the log density of u ``(subjects, points)``, and slopes in u, the mean and log σ; ``slope`` is that in x."""
    stretch, sigma = np.exp((1 - a) * log_sigma), np.exp(a * log_sigma)
    apart = rows - a * mean
    scaled = apart / sigma
    value = -0.5 * (scaled**2).sum(axis=0) - a.sum() * log_sigma
    by_mean = (slope * (1 - a * stretch) + a * scaled / sigma).sum(axis=0)
    by_log = (slope * (1 - a) * stretch * apart + a * (scaled**2 - 1)).sum(axis=0)
    return value, slope * stretch - scaled / sigma, by_mean, by_log


def _cuts_part(edges: Floats, mean: Floats, log_sigma: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the log prior of the cuts, and slopes in the edges ``(2, K, subjects, points)``, mean and log σ: in outward
    coordinates both sides are N(mean, σ²) above the first edge, divided by the mass that lies there.
    """
    sigma = np.exp(log_sigma)
    scaled = (edges - mean) / sigma
    cuts, first = scaled[:, 1:], np.clip(scaled[:, 0], -FAR, None)
    number = float(cuts.shape[1])
    upper = erfcx(first / ROOT_2)
    hazard = HAZARD / upper  # φ/Φ̄ at the first edge
    mass = np.log(0.5 * upper) - 0.5 * first**2
    value = -0.5 * (cuts**2).sum(axis=(0, 1, 2)) - number * mass.sum(axis=(0, 1))
    value = value - cuts.shape[0] * number * cuts.shape[2] * log_sigma
    slope = np.concatenate([number * hazard[:, None], -cuts], axis=1)
    by_edge = slope / sigma
    d_log = -(slope * scaled).sum(axis=(0, 1, 2)) - cuts.shape[0] * number * cuts.shape[2]
    return value, by_edge, -by_edge.sum(axis=(0, 1, 2)), d_log


def _type1_part(table: Floats, d1: Floats, c1: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the two binomials of all subjects, summed, and slopes in d₁ and c₁ ``(subjects, points)``."""
    (cr, miss), (hit, fa) = table.sum(axis=2)
    half = 0.5 * d1
    x = np.minimum(np.stack([half - c1, c1 - half, -half - c1, c1 + half]), FAR)
    counts = np.stack([hit, miss, fa, cr])[..., None]
    lower = erfcx(x / -ROOT_2)
    value = (counts * (np.log(0.5 * lower) - 0.5 * x**2)).sum(axis=(0, 1))
    hits, misses, false_alarms, rejections = counts * (HAZARD / lower)
    by_d1 = 0.5 * (hits - misses - false_alarms + rejections)
    return value, by_d1, misses - hits - false_alarms + rejections
