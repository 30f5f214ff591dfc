"""The examples in the documentation of the statistics run."""

import doctest
import importlib
import pkgutil

import numpy as np

from metacog_pipeline import stats
from tests.tables import every

MODULES = sorted(each.name for each in pkgutil.walk_packages(stats.__path__, "metacog_pipeline.stats."))


@every("name", MODULES)
def test_examples_give_what_they_show(name):
    with np.printoptions(legacy=False):
        failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0
