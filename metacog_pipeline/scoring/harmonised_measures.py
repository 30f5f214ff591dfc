"""What the measures of the table `calibration` mean: label, unit, range, direction and definition of each."""

from __future__ import annotations

from dataclasses import replace

from metacog_pipeline.benchmark.measures import Measure, Unit, Where
from metacog_pipeline.stats.mafc.table import LARGEST_M

_SIGNED, _ANY = (-1.0, 1.0), (None, None)
_FOLDS = "in five folds of items, all answers to an item in one: no answer is judged by a map that has seen its item"

_STATED: Where = (("confidence", None),)
#: Of the harmonised answers with a confidence, those that were chosen among a known number of alternatives.
CHOSEN: Where = (*_STATED, ("n_alternatives", tuple(range(2, LARGEST_M + 1))))
#: What is measured of these (`scoring.efficiency`).
OF_CHOICES = ("d_mafc", "meta_d_mafc", "m_ratio_mafc", "eta_mafc", "auroc2_ideal")
_MEASURES: tuple[Measure, ...] = (
    Measure("accuracy", "accuracy", words="Share of answers with a confidence that are right."),
    Measure("mean_confidence", "confidence", higher_is_better=None, words="Mean stated confidence."),
    Measure(
        "ece", "ECE", higher_is_better=False,
        words="Expected calibration error: gaps between confidence and share right, ten bins of equal width.",
    ),
    Measure("brier", "Brier", higher_is_better=False, words="Mean squared distance of confidence from right or wrong."),
    Measure("auroc2", "AUROC2", words="Chance that a right answer has more confidence than a wrong one, ties half."),
    Measure(
        "brier_reliability", "Brier: reliability", higher_is_better=False,
        words="Part of the Brier score: mean squared distance of confidence from the share right of its percent. Brier is "
        "reliability minus resolution plus uncertainty.",
    ),
    Measure(
        "brier_resolution", "Brier: resolution",
        words="Part of the Brier score: mean squared distance of these shares from the share right of all answers.",
    ),
    Measure(
        "brier_uncertainty", "Brier: uncertainty", higher_is_better=None,
        words="Part of the Brier score: share right times share wrong, what confidence has to tell.",
    ),
    Measure(
        "ece_debiased", "ECE, debiased", higher_is_better=False,
        words="ECE less its mean excess in resamples, at least 0: gaps of noise add up, so that ECE of few answers is too "
        "large.",
    ),
    Measure(
        "aurc", "AURC", higher_is_better=False,
        words="Area under risk against coverage: the share wrong among the k surest answers, mean over k, and over all "
        "orders of equal confidences. It holds accuracy too.",
    ),
    Measure(
        "excess_aurc", "excess AURC", higher_is_better=False,
        words="AURC minus that of the order which puts every wrong answer last: what a perfect order of the same answers "
        "would save.",
    ),
    Measure(
        "prr", "PRR", range=_SIGNED,
        words="Prediction-rejection ratio: the area between the rejection curve and random rejection, over that of the "
        "best order; 0 is random, 1 the best. With right and wrong answers it is 2 AUROC2 - 1.",
    ),
    Measure(
        "calibration_in_the_large", "in the large", range=_SIGNED, higher_is_better=None,
        words="Mean confidence minus share right: above 0 over-confident, below 0 under-confident; 0 is best.",
    ),
    Measure(
        "calibration_slope", "slope", unit=Unit.RATIO, range=_ANY, higher_is_better=None,
        words="Slope of the logistic regression of right or wrong on the logit of confidence (cut at 0.005 and 0.995): 1 "
        "is best, below 1 confidence is too extreme, 0 it says nothing.",
    ),
    Measure(
        "ece_mass", "ECE, equal mass", higher_is_better=False,
        words="Adaptive calibration error: as ece over ten bins that hold the same number of answers; equal confidences on "
        "a border go to both sides in proportion.",
    ),
    Measure(
        "ece_platt", "ECE after Platt", higher_is_better=False,
        words=f"ECE after Platt's logistic map, cross-fitted {_FOLDS}. What it is less than ece was only a scale.",
    ),
    Measure(
        "brier_platt", "Brier after Platt", higher_is_better=False,
        words=f"Brier score after Platt's logistic map, cross-fitted {_FOLDS}.",
    ),
    Measure(
        "ece_isotonic", "ECE after isotonic", higher_is_better=False,
        words=f"ECE after isotonic regression, cross-fitted {_FOLDS}. What it is less than ece was only a rising scale.",
    ),
    Measure(
        "brier_isotonic", "Brier after isotonic", higher_is_better=False,
        words=f"Brier score after isotonic regression, cross-fitted {_FOLDS}.",
    ),
    Measure("d_mafc", "d′ (m)", unit=Unit.SD, range=_ANY, words="d′ of a choice among m alternatives."),
    Measure("meta_d_mafc", "meta-d′ (m)", unit=Unit.SD, range=_ANY, words="meta-d′ of a choice among m alternatives."),
    Measure("m_ratio_mafc", "M-ratio (m)", unit=Unit.RATIO, range=_ANY, words="meta-d′ / d′ of m alternatives."),
    Measure(
        "eta_mafc", "eta", unit=Unit.RATIO, range=_ANY,
        words="AUROC2 above one half, over that of the ideal observer with the same accuracy and use of ratings.",
    ),
    Measure("auroc2_ideal", "ideal AUROC2", higher_is_better=None, words="AUROC2 of the ideal observer of d′ and m."),
)  # fmt: skip
#: By the name without the prefix, in the order of the table.
DECLARED: tuple[Measure, ...] = tuple(
    replace(each, rests_on=CHOSEN if each.name in OF_CHOICES else _STATED, shared=True) for each in _MEASURES
)
#: Where people answered as well: the place of a model among them.
AMONG_PEOPLE: tuple[Measure, ...] = tuple(
    Measure(
        f"{name}_percentile",
        f"{label} among people",
        words=f"Share of the people of the study whose {label} lies below the model's, ties half; its interval is over "
        "resampled people and the model's own error.",
    )
    for name, label in (("accuracy", "accuracy"), ("auroc2", "AUROC2"), ("m_ratio_mafc", "M-ratio"))
)
