"""Bayesian meta-d′ of a group: the efficiency exp(μ_logM) of a population from few trials a subject.

The density is that of :mod:`metacog_pipeline.stats.bayes.group_density` (HMeta-d's group model, Fleming 2017), drawn
from by :mod:`metacog_pipeline.stats.bayes.sampler`. The gate is that of one subject,
:mod:`metacog_pipeline.stats.bayes.gate`, and each subject's criteria have to pass it, too.

Why no sampler library: the model is two hundred smooth dimensions for twenty subjects, a density and gradient of 16
chains takes about a millisecond of NumPy, and a draw about six of them. The group that takes JAGS minutes is done in
seconds, before a probabilistic programming library has compiled it; an extra dependency would buy nothing. For
hundreds of subjects the cost of a draw grows with their number, and that of the metric with its square.

Offered: d′ estimated or fixed; two independent groups are fitted apart and their ``exp(mu_log_m)`` compared by
:func:`metacog_pipeline.stats.decisions.compare`. Not offered: one meta-d a response in a group, covariates
(the toolbox's regression), two tasks of the same subjects with a correlation, and repeated measures. A within-subject
design analysed as two independent groups loses what its subjects share; its interval is then too wide as a rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from metacog_pipeline.stats._arrays import Floats, whole
from metacog_pipeline.stats.bayes.draws import Diagnostic, Draws, Summary, diagnose, summarise
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
from metacog_pipeline.stats.bayes.group_density import GroupModel, group_model
from metacog_pipeline.stats.bayes.starts import overdispersed
from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.estimate import Estimate, unavailable

FEW_SUBJECTS = "few_subjects"

# R̂ of many short chains never gets below 1.01: chains enough to tune the metric on, and few enough to be long.
CHAINS = 16
WARMUP = 500
DRAWS = 1200
ROUNDS = 3
METHOD = "posterior mean, 95% equal-tailed"
METHOD_EFFICIENCY = "exp of the posterior mean of log M, 95% equal-tailed"
LARGEST_DRAWS = 250_000_000  # numbers in one round's draws (2 GB)


@dataclass(frozen=True, slots=True, eq=False)
class GroupPosterior:
    """The posterior of a group.

    Attributes
    ----------
    status, reason
        ``"converged"``; ``"not_converged"``; ``"few_subjects"`` (a population needs two); ``"undefined_type1"`` (a
        subject without trials of one class, where d′ is fixed); ``"unidentified"`` (K = 1, or no subject uses two
        ratings with a response). All but the first come with a reason and without numbers.
    draws
        By name, ``(chains, draws)``: ``mu_log_m``, ``sigma_log_m``, ``mu_c2``, ``sigma_c2`` and, with d′ estimated,
        ``mu_d1``, ``sigma_d1``, ``mu_c``, ``sigma_c``; ``(chains, draws, subjects)``: ``d1``, ``c1``, ``m_ratio``,
        ``meta_d``; ``(chains, draws, subjects, K-1)``: ``t2c_rs1``, ``t2c_rs2``, ascending. Fixed d₁ and c₁ are constant.
        Empty unless converged.
    diagnostics
        R̂ and effective sample sizes of every scalar parameter that moves, ``m_ratio[3]`` and ``t2c_rs1[3,2]`` for
        the third subject (subjects and criteria count from 1); also of a run that has not converged.
    unconverged_draws
        What a run that has not converged drew: to look at, never to report.
    n, subjects, ratings
        Trials of all subjects, number of subjects, K.
    """

    status: str
    reason: str
    draws: Draws
    diagnostics: Mapping[str, Diagnostic]
    n: float
    subjects: int
    ratings: int
    label: str
    seed: int
    estimate_dprime: bool
    unconverged_draws: Draws = field(default_factory=dict, repr=False)

    @property
    def converged(self) -> bool:
        """Whether there are numbers."""
        return self.status == CONVERGED

    def summary(self) -> dict[str, Summary]:
        """Return mean, sd, median, intervals, errors and diagnostics by scalar parameter.

        Empty unless the posterior has converged. ``efficiency`` is exp(mu_log_m), draw by draw.
        """
        if not self.converged:
            return {}
        found: dict[str, Summary] = {}
        for part in _parts({**self.draws, "efficiency": np.exp(self.draws["mu_log_m"])}):
            known = {
                name: self.diagnostics[name if name != "efficiency" else "mu_log_m"]
                for name in part
                if name == "efficiency" or name in self.diagnostics
            }
            if known:
                found |= summarise({name: part[name] for name in known}, known)
        return found

    def efficiency(self) -> Estimate:
        """Return the group's M-ratio exp(μ_logM): exp of the mean and of the ends of the interval of μ_logM.

        Without convergence it has no value and tells the status; n is the number of subjects.
        """
        if not self.converged:
            return unavailable(self.subjects, METHOD_EFFICIENCY, self.status)
        mu = self.draws["mu_log_m"]
        low, high = np.exp(np.quantile(mu, [0.025, 0.975]))
        sd = float(np.exp(mu).std(ddof=1))
        return Estimate(
            float(np.exp(mu.mean())), float(low), float(high), self.subjects, METHOD_EFFICIENCY, sem=sd
        )


def bayes_metad_group(
    table: Counts, *, estimate_dprime: bool = True, seed: int, label: str = "", draws: int = DRAWS,
    chains: int = CHAINS, warmup: int = WARMUP, rounds: int = ROUNDS, least_ess: float = LEAST_ESS,
) -> GroupPosterior:  # fmt: skip
    """Return the posterior of a group.

    Parameters
    ----------
    table
        Counts, one subject per cell, not padded: the model needs no correction. All subjects rate on the same scale,
        which is what a table of counts holds; build it with :func:`group_counts` from subjects' own vectors.
    estimate_dprime
        True: d₁ and c₁ of each subject are parameters. False: they are fixed at the estimates of counts + 1/(2 K) a cell.
    seed, label
        0 or more, and a name of the group; with the counts they determine the random numbers. Two groups never share
        random numbers unless they are the same in all three.
    draws, chains, warmup
        Kept iterations a chain in the first round, chains, iterations for tuning in the first round.
    rounds
        How often sampling may be tried, each time from where the chains stand with twice the iterations and shorter steps.
    least_ess
        What bulk and tail effective sample sizes must exceed, 400 or more.

    Raises
    ------
    ValueError
        For padded counts, a negative seed, fewer than 4 chains or draws, a threshold below 400, or more draws than
        fit into memory.

    Examples
    --------
    >>> one = Counts(np.array([[9.0, 4, 3, 2]]), np.array([[2.0, 3, 5, 8]]))
    >>> bayes_metad_group(one, seed=1).status
    'few_subjects'
    """
    require(table, least_ess)
    seed, draws, chains = whole("seed", seed), whole("draws", draws, 4), whole("chains", chains, 4)
    warmup, rounds = whole("warmup", warmup), whole("rounds", rounds, 1)
    about = (float(table.n.sum()), table.cells, table.ratings, label, seed, estimate_dprime)
    status, reason = _hopeless(table, estimate_dprime)
    if status:
        return GroupPosterior(status, reason, {}, {}, *about)
    model = group_model(table.n_s1, table.n_s2, estimate_dprime=estimate_dprime)
    most = chains * draws * 2 ** (rounds - 1) * model.dim
    if most > LARGEST_DRAWS:
        raise ValueError(
            f"{chains} chains of up to {draws * 2 ** (rounds - 1)} draws in {model.dim} dimensions do not fit into "
            "memory: ask for fewer draws, chains or rounds"
        )
    stream = random_stream(
        seed, label, ("group", model.ratings_given.shape, model.fixed is None), model.ratings_given
    )
    found = sample_until_sure(
        model, _starts(model, chains, stream), stream, read=model.parameters, diagnose=_diagnose,
        draws=draws, warmup=warmup, rounds=rounds, least_ess=least_ess, shorter=True,
    )  # fmt: skip
    if not found.reason:
        return GroupPosterior(CONVERGED, "", found.draws, found.diagnostics, *about)
    return GroupPosterior(NOT_CONVERGED, found.reason, {}, found.diagnostics, *about, found.draws)


def group_counts(subjects_s1: list[Floats], subjects_s2: list[Floats]) -> Counts:
    """Return the table of a group from its subjects' count vectors, each of length 2 K.

    Parameters
    ----------
    subjects_s1, subjects_s2
        Counts after S1 and after S2, one vector for each subject, the same order of subjects.

    Raises
    ------
    ValueError
        For subjects that rated on scales of different length: the group model has one.

    >>> group_counts([np.ones(4)] * 3, [np.ones(4)] * 3).cells
    3
    """
    lengths = [len(row) for row in (*subjects_s1, *subjects_s2)]
    if len(subjects_s1) != len(subjects_s2) or len(set(lengths)) != 1:
        raise ValueError(
            f"count vectors of lengths {', '.join(map(str, sorted(set(lengths)))) or 'none'}: all subjects of a group "
            "need one vector per stimulus and the same number of ratings"
        )
    return Counts(np.array(subjects_s1, dtype=np.float64), np.array(subjects_s2, dtype=np.float64))


def _diagnose(draws: Draws) -> dict[str, Diagnostic]:
    found: dict[str, Diagnostic] = {}
    for part in _parts(draws):
        found |= diagnose(part)
    return found


def _parts(draws: Draws) -> list[dict[str, Floats]]:
    """Return the scalar parameters that move, by name, in parts small enough to be diagnosed one after the other."""
    parts: list[dict[str, Floats]] = []
    for name, values in draws.items():
        flat = values.reshape(*values.shape[:2], -1)
        part = {}
        for j, index in enumerate(np.ndindex(values.shape[2:])):
            column = flat[:, :, j]
            if bool((column != column.flat[0]).any()):
                part[name + (f"[{','.join(str(i + 1) for i in index)}]" if index else "")] = column
        if part:
            parts.append(part)
    return parts


def _hopeless(table: Counts, estimate_dprime: bool) -> tuple[str, str]:
    """Return status and reason where the data cannot speak about a population, else empty strings."""
    if table.cells < 2:
        return (
            FEW_SUBJECTS,
            f"{table.cells} subject(s): a population needs two, fit a single one with bayes_metad",
        )
    used = (table.n_s1 + table.n_s2).reshape(table.cells, 2, -1) > 0
    if table.ratings < 2 or not bool((used.sum(axis=2) > 1).any()):
        return UNIDENTIFIED, "no subject uses two ratings with one response"
    empty = (table.n1 == 0) | (table.n2 == 0)
    if not estimate_dprime and bool(empty.any()):
        return UNDEFINED_TYPE1, f"subject {int(np.argmax(empty)) + 1} has no trial of one stimulus class"
    if bool(empty.all()):
        return UNDEFINED_TYPE1, "no subject has trials of both stimulus classes"
    return "", ""


def _starts(model: GroupModel, chains: int, stream: np.random.SeedSequence) -> Floats:
    """Return starts about the subjects' point estimates, wider than the posterior in every coordinate."""
    scale = np.full(model.dim, 0.15)  # twice that is drawn
    scale[: len(model.hyper)] = 0.3
    first = len(model.hyper) + (2 * model.subjects if model.fixed is None else 0)
    scale[first : first + model.subjects] = 0.5
    return overdispersed(model, model.guess(), np.diag(scale), chains, stream.spawn(1)[0])
