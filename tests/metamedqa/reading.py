"""Answers in a file about some items, read without a study."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from metacog_pipeline.benchmark.contract import Condition
from metacog_pipeline.benchmarks.metamedqa.benchmark import Rows
from metacog_pipeline.benchmarks.metamedqa.items import BASELINE, Item
from metacog_pipeline.benchmarks.metamedqa.prompts import load_wording
from metacog_pipeline.benchmarks.metamedqa.read import UNREADABLE, read_response
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.import_rules import Imported, ImportOptions
from metacog_pipeline.interchange.importing import placed


def read_answers(
    path: Path,
    items: Sequence[Item],
    content: str | bytes | Sequence[Mapping[str, Any]] | None = None,
    mapping: Mapping[str, str] | None = None,
    *,
    model: str = "theirs",
    run: int = 1,
    **options: Any,
) -> Imported:
    """Read the answers in ``path`` about ``items``; nothing is kept. Raises as an import does.

    ``content``, where there is any, is written there first; rows as JSON Lines.
    """
    if content is not None:
        whole = content if isinstance(content, str | bytes) else "\n".join(map(json.dumps, content))
        path.write_bytes(whole if isinstance(whole, bytes) else whole.encode())
    usual = (Condition(BASELINE),)
    about = {
        "name": "metamedqa",
        "built": items,
        "items": items,
        "wording": load_wording(),
        "unreadable": UNREADABLE,
    }
    parse = {"parse": lambda item, condition, calls: read_response(item, calls)}
    rules = Rows(
        SimpleNamespace(**about, **parse, conditions=lambda: usual, steps=lambda condition: ("answer",))
    )
    pairs = tuple(f"{field}={column}" for field, column in (mapping or {}).items())
    how = ImportOptions(model=model, run=run, pairs=pairs, condition=BASELINE, **options)
    return placed(path, rules, *columns.samples(path, rules, how), how).summed_up(how)


def table(
    header: Iterable[Any], rows: Iterable[Iterable[Any]], separator: str = ",", ends: str = "\n"
) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator=ends).writerows([header, *rows])
    return out.getvalue()
