"""The benchmarks the study switches on, as assets. Another study file shows others after "Reload definitions"."""

from assets.catalogue import BenchmarkAssets
from assets.medley import MEDLEY
from assets.metacogbench import METACOGBENCH
from assets.metamedqa import METAMEDQA
from assets.selfknowledge import SELFKNOWLEDGE
from assets.signaldetection import SIGNALDETECTION
from assets.study_file import current_study

ALL: tuple[BenchmarkAssets, ...] = (METAMEDQA, SIGNALDETECTION, MEDLEY, METACOGBENCH, SELFKNOWLEDGE)
ENABLED = tuple(each for each in ALL if each.benchmark.name in current_study().enabled)
