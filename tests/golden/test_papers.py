"""Papers: the figures and tables a benchmark numbers are those that the text of its paper numbers."""

import re

import pytest

from metacog_pipeline import registry
from tests.golden.agreed import GOLDEN, need

PAPERS = GOLDEN.parent / "papers"
TEXTS = {
    "selfknowledge": "esma",
    **{n: n for n in ("metamedqa", "signaldetection", "medley", "metacogbench")},
}
NUMBERED = re.compile(r"\b(Fig(?:ure)?|Table)s?\.?\s+(S?\d+)\b")


@pytest.mark.parametrize("benchmark", TEXTS)
def test_a_benchmark_numbers_the_figures_and_tables_of_its_paper(benchmark):
    found = NUMBERED.findall(need(PAPERS / f"{TEXTS[benchmark]}.txt").read_text("utf-8"))
    wanted = {f"{'Table' if kind == 'Table' else 'Figure'} {number}" for kind, number in found}
    assert set(registry.load(benchmark).paper.numbered) == wanted
