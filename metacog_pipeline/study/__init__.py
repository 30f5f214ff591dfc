"""The study file, read and validated. It never asks anyone and writes nothing.

``study_file`` holds :class:`Study` and `load_study`; ``sections`` the tables of the file that all benchmarks share.
Start with `load_study`.
"""

from metacog_pipeline.study.sections import Section, Settings, Stage, setting
from metacog_pipeline.study.study_file import ASKED, Study, StudySection, load_study

__all__ = ["ASKED", "Section", "Settings", "Stage", "Study", "StudySection", "load_study", "setting"]
