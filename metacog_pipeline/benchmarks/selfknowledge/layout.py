"""The tables of the benchmark: observations, estimates, comparisons; and what an observation's status means.

An observation is one item under one condition. Under ``dual`` conditions it rests on two calls, the direct question and
the meta question; under ``idk`` on one. ``correct`` and ``yes`` are read by the rules the study names, their neighbours by
fixed ones, so that the published reading stands beside every other:

====================================  ================================================================================
``correct``                           by the study's matching rule; any text is right or wrong, an empty one is wrong
``correct_reference``                 by ``inclusion``
``correct_strict``                    by ``token_boundary``
``yes``                               by the study's yes/no rule; null: the reply says neither. ``idk``: not abstained
``yes_reference``, ``yes_strict``     by those rules; ``reference`` always says something
``abstained``                         ``idk``: by the study's rule; null under ``dual``
``abstained_reference``               ``idk``: the text "i don't know" is there; null under ``dual``
``confidence``                        P(yes) / (P(yes) + P(no)) of the first token of the meta reply, 0..1; null where no
                                      log-probabilities were kept
``answerable``                        whether the item has any accepted answer in the language
``cluster``                           items that share it are no independent trials (the same question twice, one event)
``truncated``                         a reply was cut by the length limit; it is scored as it stands
====================================  ================================================================================

All 0/1; all null in a row without an answer.
"""

from __future__ import annotations

import polars as pl

OK = "ok"
META_INVALID = "meta_invalid"  # the meta reply says neither yes nor no by the study's rule
REFUSED = "refused"  # the provider refused one of the calls: a reply that says nothing
# Without an answer in the store: never scored; a run that has one of these is not complete.
UNANSWERED = ("transport_error", "too_long", "not_run")
# Answered, but one of the replies could not be read.
UNREADABLE = (META_INVALID, REFUSED)
STATUSES = (OK, *UNREADABLE, *UNANSWERED)

IDK = "idk"
DUAL = "dual"

_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", "dataset", "condition", "language", "model"), pl.String),
    "run": pl.Int32,
    "item_id": pl.String,
    "cluster": pl.String,
    "position": pl.Int32,
    "answerable": pl.Int8,
    "status": pl.String,
    "reason": pl.String,
    **dict.fromkeys(("correct", "correct_reference", "correct_strict"), pl.Int8),
    **dict.fromkeys(("yes", "yes_reference", "yes_strict"), pl.Int8),
    **dict.fromkeys(("abstained", "abstained_reference"), pl.Int8),
    "confidence": pl.Float64,
    "truncated": pl.Int8,
    **dict.fromkeys(("latency_s", "cost_usd"), pl.Float64),
    **dict.fromkeys(("input_tokens", "output_tokens"), pl.Int64),
    **dict.fromkeys(("mode", "answer_id", "answer_id_meta", "output", "meta_output", "source"), pl.String),
}
#: One row per condition and item that has a question in its language, failed and unasked ones included.
OBSERVATION_SCHEMA = pl.Schema(_TYPES)

#: One row per cell and measure; ``run`` is null where runs are pooled.
ESTIMATE_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "dataset", "condition", "model"), pl.String),
        "run": pl.Int32,
        "measure": pl.String,
        **dict.fromkeys(("estimate", "low", "high", "sem"), pl.Float64),
        **dict.fromkeys(("n", "n_failed", "n_unparsable"), pl.Int64),
        "coverage": pl.Float64,
        **dict.fromkeys(("method", "status", "source"), pl.String),
    }
)

#: One row per test of ``a`` minus ``b``; ``condition`` and ``model`` say what is held fixed.
COMPARISON_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "dataset", "source", "condition", "model"), pl.String),
        **dict.fromkeys(("family", "measure", "a", "b"), pl.String),
        **dict.fromkeys(("difference", "se", "low", "high", "statistic", "p", "p_adjusted"), pl.Float64),
        "verdict": pl.String,
        "n": pl.Int64,
        "note": pl.String,
        "status": pl.String,
    }
)

#: Points of the type-2 ROC and bins of the densities of ``confidence``; one row per point or bin of a curve.
CURVE_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("benchmark", "dataset", "condition", "model", "source"), pl.String),
        "curve": pl.String,  # roc | density_correct | density_wrong
        "position": pl.Int32,
        **dict.fromkeys(("x", "y", "threshold"), pl.Float64),
        "n": pl.Int64,
    }
)
