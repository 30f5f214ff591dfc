"""What a fit of meta-d' returns: arrays over cells, each with the reason where there is no number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.stats import identifiability
from metacog_pipeline.stats._arrays import Floats, Ints

OK = "ok"
UNDEFINED_TYPE1 = "undefined_type1"
ZERO_DPRIME = "zero_dprime"
UNIDENTIFIED = "unidentified"
BOUNDARY = "boundary"
NOT_CONVERGED = "not_converged"

REASONS = {
    OK: "",
    UNDEFINED_TYPE1: "d' is not finite: a stimulus or an answer never occurred, or no answer was wrong (or right)",
    ZERO_DPRIME: "d' is 0: neither the relative criterion nor the M-ratio exists",
    UNIDENTIFIED: "one rating per response at most: confidence says nothing about meta-d'",
    BOUNDARY: "the likelihood rises or stays level up to |meta-d'| = 10: no finite estimate",
    NOT_CONVERGED: "the search found no maximum it can vouch for",
}

Texts = NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class Conditional:
    """meta-d' of one response side alone; every array has shape ``(cells,)``.

    Attributes
    ----------
    meta_d1, meta_da
        In standard deviations of S1, and in root-mean-square units; NaN unless ``status`` is ``"ok"``.
    m_ratio
        meta_d1 / d1.
    se_meta_d
        Standard error of meta_da from the observed information, d1 and c1 taken as known.
    status
        ``"ok"``, or a key of ``REASONS``.
    """

    meta_d1: Floats
    meta_da: Floats
    m_ratio: Floats
    se_meta_d: Floats
    status: Texts


@dataclass(frozen=True, slots=True)
class MetaD:
    """Maximum-likelihood meta-d' of many cells; arrays have shape ``(cells,)`` unless said otherwise.

    Attributes
    ----------
    status
        A key of ``REASONS``. Numbers below are NaN where it is not ``"ok"``, with two exceptions: type-1 measures are
        what they are (±inf, 0), and ``"boundary"`` gives the likelihood and criteria at the end of the range.
    d1, c1
        Type-1 sensitivity and criterion in standard deviations of S1.
    da, ca
        The same in root-mean-square units; equal at s = 1.
    meta_d1, meta_da
        meta-d' in either unit, -10 .. 10 (meta_d1). Where the status is ``"boundary"`` it is the end of the range, or a
        point of the level stretch that leads there.
    m_ratio, m_diff
        meta_d1 / d1 and meta_da - da.
    meta_c1
        Type-1 criterion of the meta-d' model, meta_d1 · c1 / d1.
    t2c_rs1, t2c_rs2
        ``(cells, K - 1)``: type-2 criteria from left to right on the axis whose zero is midway between the means; an
        unused rating has width 0, and one outside the last used is bounded by ±inf.
    log_likelihood
        Without the multinomial constant.
    gradient
        Largest absolute derivative of the log likelihood per trial at the solution, by meta-d' and by the logarithm of
        any distance between criteria.
    iterations
        Newton steps made.
    se_meta_d
        Standard error of meta_da from the observed information, d1 and c1 taken as known.
    se_meta_d_total, se_m_ratio, se_m_diff
        Standard errors that hold the uncertainty of d1 and c1 too (two stages, delta method).
    counts
        ``(2, 2, K, cells)``: what was fitted, by response (S1, S2), outcome (correct, wrong) and confidence.
    n
        Trials, with what was padded.
    pad, s
        What was added to each count, and sd(S1) / sd(S2).
    rs1, rs2
        Response-conditional fits, or None where none were asked for.
    """

    status: Texts
    d1: Floats
    c1: Floats
    da: Floats
    ca: Floats
    meta_d1: Floats
    meta_da: Floats
    m_ratio: Floats
    m_diff: Floats
    meta_c1: Floats
    t2c_rs1: Floats
    t2c_rs2: Floats
    log_likelihood: Floats
    gradient: Floats
    iterations: Ints
    se_meta_d: Floats
    se_meta_d_total: Floats
    se_m_ratio: Floats
    se_m_diff: Floats
    counts: Floats
    n: Floats
    pad: float
    s: Floats
    rs1: Conditional | None = None
    rs2: Conditional | None = None

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.status)

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which cells have an estimate."""
        ok: NDArray[np.bool_] = self.status == OK
        return ok

    @property
    def reason(self) -> list[str]:
        """Why a cell has no estimate, in words; empty where it has one."""
        return [REASONS[str(name)] for name in self.status]

    @property
    def withheld(self) -> list[str]:
        """Why a cell's number is not to be shown, padded or not: what its own counts do not tell, or its status."""
        raw = np.maximum(self.counts - self.pad, 0.0)
        raw[raw < identifiability.ROUNDING] = 0.0
        right, wrong = (raw[:, row].transpose(2, 0, 1) for row in (0, 1))
        why = identifiability.reasons(right, wrong)
        return [first or second for first, second in zip(why, self.reason, strict=True)]
