"""Answers in a file about some items, read without a study."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

from metacog_pipeline.asking.imported import Imported, ImportOptions
from metacog_pipeline.asking.importing import read_table
from metacog_pipeline.benchmarks.metamedqa.importing import Rows
from metacog_pipeline.benchmarks.metamedqa.items import Item
from metacog_pipeline.benchmarks.metamedqa.prompts import BASELINE, Wording, load_wording


def read_answers(
    path: Path,
    items: Sequence[Item],
    *,
    model: str,
    run: int,
    mapping: Mapping[str, str] | None = None,
    wording: Wording | None = None,
    condition: str = BASELINE,
    options: ImportOptions | None = None,
) -> Imported:
    """Read the answers in ``path`` about ``items``, without a study; nothing is kept.

    Raises as `asking.importing.read_table`; ``wording`` says which conditions there are, the shipped one by default.
    """
    words = wording or load_wording()
    usual = (SimpleNamespace(name=BASELINE),)
    rules = Rows(SimpleNamespace(built=items, items=items, wording=words, conditions=lambda: usual))
    how = options or ImportOptions()
    return read_table(rules, path, mapping or {}, words.condition(condition), how, model, run)
