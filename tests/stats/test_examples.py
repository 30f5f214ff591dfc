"""The examples in the documentation of the statistics run, and every public statistic has one."""

import ast
import doctest
import importlib
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


def called_elsewhere():
    """Yield the module and name of every statistic that another part of the program imports or calls."""
    package = Path(metacog_pipeline.__file__).parent
    for path in sorted(package.rglob("*.py")):
        if package / "stats" in path.parents:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
        names = {
            each.asname or each.name: f"{node.module}.{each.name}" for node in imports for each in node.names
        }
        yield from names.values()
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in names
            ):
                yield f"{names[node.value.id]}.{node.attr}"


def statistics_others_call():
    """Yield the name and the docstring of each."""
    called = set(called_elsewhere())
    for name in MODULES:
        for node in ast.parse(Path(importlib.import_module(name).__file__).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and f"{name}.{node.name}" in called:
                yield f"{name}.{node.name}", ast.get_docstring(node) or ""


def test_every_statistic_that_others_call_has_an_example():
    lacking = [name for name, said in statistics_others_call() if ">>>" not in said]
    # Draws of clusters show nothing in a line: what is made of them has the examples.
    assert [name for name in lacking if ".stats.resampling." not in name] == []
