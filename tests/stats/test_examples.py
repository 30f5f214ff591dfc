"""The examples in the documentation of the statistics run, and every statistic that others import has one."""

import ast
import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import numpy as np

import metacog_pipeline
from metacog_pipeline import stats
from tests.tables import every

MODULES = sorted(each.name for each in pkgutil.walk_packages(stats.__path__, "metacog_pipeline.stats."))


@every("name", MODULES)
def test_examples_give_what_they_show(name):
    with np.printoptions(legacy=False):
        failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def imported():
    """Return every function that another part of the program imports by its name."""
    package = Path(metacog_pipeline.__file__).parent
    texts = [
        each.read_text("utf-8") for each in package.rglob("*.py") if package / "stats" not in each.parents
    ]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    named = {(node.module, each.name) for node in nodes if node.module in MODULES for each in node.names}
    found = (getattr(importlib.import_module(module), name) for module, name in sorted(named))
    return [each for each in found if inspect.isfunction(each)]


def test_every_statistic_that_others_import_has_an_example():
    functions = imported()
    assert len(functions) > 40
    assert sorted(each.__name__ for each in functions if ">>>" not in (each.__doc__ or "")) == []
