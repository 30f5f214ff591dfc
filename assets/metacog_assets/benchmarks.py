"""The benchmarks the study switches on, as assets. Another study file shows others after "Reload definitions"."""

from metacog_assets.catalogue import BenchmarkAssets
from metacog_assets.medley import MEDLEY
from metacog_assets.metacogbench import METACOGBENCH
from metacog_assets.metamedqa import METAMEDQA
from metacog_assets.selfknowledge import SELFKNOWLEDGE
from metacog_assets.signaldetection import SIGNALDETECTION
from metacog_assets.study_file import current_study

ALL: tuple[BenchmarkAssets, ...] = (METAMEDQA, SIGNALDETECTION, MEDLEY, METACOGBENCH, SELFKNOWLEDGE)
ENABLED = tuple(each for each in ALL if each.benchmark.name in current_study().enabled)
