"""MEDLEY-BENCH: when others disagree, does a model follow arguments, the crowd, or itself?

Farhad Abtahi, Abdolamir Karbalaie, Eduardo Illueca-Fernandez, Fernando Seoane: "MEDLEY-BENCH: Scale Buys Evaluation but
Not Control in AI Metacognition" (2026), arXiv:2604.16009. Reproduces Table 1 (MMS, tiers, abilities, MAS) and Tables
S5–S10 (domains, adversarial and stripped conditions, ipsative profiles), and the numbers of the authors' package
medley-bench 0.5.3.

A model answers a case alone (step A), reviews its own answer (B-private), and then sees eight analysts and their consensus
(B-social); what it changed, why, and whom it cites is measured. Two ways of scoring are kept apart everywhere:
``reference`` (what the package computes) and ``paper`` (what the paper writes).

Read in this order: ``items`` (what is asked), ``presentation`` (what is shown of the others), ``prompts`` (in which words),
``asking`` (in which calls), ``parsing`` and ``labels`` (what a reply says), ``responses`` (one row per instance and
condition), ``rule_based`` (the computed measures of an instance), ``judging`` (its grades), ``aggregate``, ``abilities``,
``known_answers`` (from these to scores), ``instance_scores`` (all of it for many instances at once), ``measures``
(estimates of models), ``contrasts`` (between models and conditions), ``tables``. ``simulated`` answers instead of a model,
``construction`` makes or reads instances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metacog_pipeline import registry

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.medley.benchmark import Medley as Medley

#: Imported when asked for: a command that reads the study file or prints a board loads no statistics.
PARTS = {
    "Medley": f"{__name__}.benchmark:Medley",
    "Settings": f"{__name__}.settings:Settings",
    "board": f"{__name__}.board:BOARD",
    "read_row": f"{__name__}.read:read_row",
}
__getattr__ = registry.lazily(__name__, "Medley", PARTS)
