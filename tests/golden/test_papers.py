"""Papers: the figures and tables a benchmark numbers are those that the text of its paper numbers."""

import os
import re
from pathlib import Path

import pytest

from metacog_pipeline import registry

GOLDEN = Path(os.environ.get("METACOG_GOLDEN", Path(__file__).parents[3] / "shared" / "golden"))
PAPERS = GOLDEN.parent / "papers"
TEXTS = {
    "metamedqa": "metamedqa",
    "signaldetection": "signaldetection",
    "medley": "medley",
    "metacogbench": "metacogbench",
    "selfknowledge": "esma",
}
NUMBERED = re.compile(r"\b(Fig(?:ure)?|Table)s?\.?\s+(S?\d+)\b")


@pytest.mark.parametrize("benchmark", TEXTS)
def test_a_benchmark_numbers_the_figures_and_tables_of_its_paper(benchmark):
    path = PAPERS / f"{TEXTS[benchmark]}.txt"
    if not path.exists():
        pytest.skip(f"{path} is not here: the texts of the papers are next to METACOG_GOLDEN")
    found = NUMBERED.findall(path.read_text("utf-8"))
    wanted = {f"{'Table' if kind == 'Table' else 'Figure'} {number}" for kind, number in found}
    assert set(registry.load(benchmark).paper.numbered) == wanted
