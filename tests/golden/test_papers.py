"""Papers: no figure or table that the text of a paper numbers is missing from the manifest of its benchmark."""

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
def test_no_figure_or_table_of_a_paper_is_missing_without_a_word(benchmark):
    found = NUMBERED.findall(need(PAPERS / f"{TEXTS[benchmark]}.txt").read_text("utf-8"))
    wanted = {f"{'Table' if kind == 'Table' else 'Figure'} {number}" for kind, number in found}
    assert wanted and wanted <= {each.number for each in registry.load(benchmark).exhibits()}
