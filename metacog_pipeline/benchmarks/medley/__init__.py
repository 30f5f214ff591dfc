"""MEDLEY-BENCH: when others disagree, does a model follow arguments, the crowd, or itself?

Farhad Abtahi, Abdolamir Karbalaie, Eduardo Illueca-Fernandez, Fernando Seoane: "MEDLEY-BENCH: Scale Buys Evaluation but
Not Control in AI Metacognition" (2026), arXiv:2604.16009. Reproduces Table 1 (MMS, tiers, abilities, MAS) and Tables
S5–S10 (domains, adversarial and stripped conditions, ipsative profiles), and the numbers of the authors' package
medley-bench 0.5.3.

A model answers a case alone (step A), reviews its own answer (B-private), and then sees eight analysts and their consensus
(B-social); what it changed, why, and whom it cites is measured. Two variants are kept apart everywhere: ``reference``
(what the package computes) and ``paper`` (what the paper writes).

Read in this order: ``items`` (what is asked), ``presentation`` (what is shown of the others), ``prompts`` (in which words),
``protocol`` (in which calls), ``parsing`` and
``labels`` (what a reply says), ``observe`` (one row per instance and condition), ``measures`` (the computed measures),
``judged`` (several judges, one grade), ``aggregate``, ``abilities``, ``known_answers`` (from measures to scores),
``triples`` (all of it for many instances at once), ``scoring`` (estimates of models), ``comparisons`` (between models and
conditions). ``simulate`` answers instead of a model, ``sources`` fetches the published set, ``construction`` makes new
instances.
"""

from typing import Any

from metacog_pipeline.benchmarks.medley.settings import Settings as _Settings


class Medley:
    """What the registry finds until the benchmark fulfils the contract."""

    Settings = _Settings

    @staticmethod
    def legacy() -> Any:
        """Return the functions the stages call."""
        from metacog_pipeline.benchmarks.medley.stages import MEDLEY

        return MEDLEY
