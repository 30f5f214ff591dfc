"""The examples in the documentation of the statistics run, and every public statistic has one."""

import ast
import doctest
import importlib
import pkgutil
from pathlib import Path

import numpy as np

from metacog_pipeline import stats
from tests.tables import every

MODULES = sorted(each.name for each in pkgutil.walk_packages(stats.__path__, "metacog_pipeline.stats."))
# Rooms behind a front door that has examples: how chains and likelihoods work inside.
INSIDE = (
    "_arrays",
    "density",
    "gate",
    "group_density",
    "likelihood",
    "newton",
    "problem",
    "rates",
    "sampler",
)
INSIDE += ("search", "solve", "standard_errors", "starts", "types")
# Parts of statistics that are public for other modules of the room only.
PARTS = {
    "check_correction", "ess_bulk", "ess_mean", "ess_quantile", "ess_tail", "estimate", "fit_replicates", "generator",
    "guarded_rho", "interval", "mcse_mean", "model_shares", "outcome_status", "point",
    "trials_needed", "equal_use_criteria", "yes_no_table", "of_each", "evaluated_together",
    "best", "build", "checked", "curve", "one_cell", "scalars", "turn", "type1_of",
}  # fmt: skip


@every("name", MODULES)
def test_examples_give_what_they_show(name):
    with np.printoptions(legacy=False):
        failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_every_public_statistic_says_what_each_of_its_parameters_is():
    lacking = [
        f"{path.stem}.{node.name}: {argument.arg}"
        for path in sorted(Path(stats.__path__[0]).rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        if ">>>" in (said := ast.get_docstring(node) or "")
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        if argument.arg not in said.partition(">>>")[0]
    ]
    assert lacking == []


def test_every_public_statistic_has_an_example():
    lacking = [
        f"{path.stem}.{node.name}"
        for path in sorted(Path(stats.__path__[0]).rglob("*.py"))
        if path.stem not in INSIDE and not (path.parent.name == "bayes" and path.stem == "draws")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.name not in PARTS
        if ">>>" not in (ast.get_docstring(node) or "")
    ]
    assert lacking == []
