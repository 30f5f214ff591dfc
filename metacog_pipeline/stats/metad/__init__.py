"""Metacognitive sensitivity meta-d' and its efficiency, the M-ratio, by maximum likelihood.

Maniscalco & Lau (2012), "A signal detection theoretic approach for estimating metacognitive sensitivity from confidence
ratings", *Consciousness and Cognition* 21, 422-430. meta-d' is the d' of an ideal observer that would give the observed
ratings: M-ratio = meta-d' / d' is 1 where confidence uses all that the decision had, below 1 where some of it is lost.
"""

from metacog_pipeline.stats.metad.fit import REASONS, MetaD, fit_metad

__all__ = ["REASONS", "MetaD", "fit_metad"]
