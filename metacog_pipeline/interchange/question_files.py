"""Files of questions as items: JSON Lines, JSON, CSV or Parquet, one question a row; a row that is none is an error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from metacog_pipeline.errors import SourceError, StudyError, one_line
from metacog_pipeline.interchange.answer_files import AnswerFile
from metacog_pipeline.interchange.question import Question
from metacog_pipeline.interchange.question_rows import content_digest, question_of

QuestionT = TypeVar("QuestionT", bound=Question)


def load(paths: Sequence[Path], row: type[QuestionT]) -> list[QuestionT]:
    """Return the questions of all files in their order; SourceError with file and row for what is no question."""
    found: dict[str, QuestionT] = {}
    where: dict[str, str] = {}
    for path in paths:
        for place, fields in _read(path):
            try:
                item = row(**fields, position=len(found))
            except (ValueError, RecursionError) as error:
                raise SourceError(f"{place}: {one_line(str(error), 300)}") from None
            if item.item_id in where:
                both = (item, found[item.item_id])
                same = len({content_digest(each.question, each.options) for each in both}) == 1
                raise SourceError(
                    f"{place}: {'the same question' if same else f'id {item.item_id!r}'} stands at "
                    f"{where[item.item_id]} already; {'remove' if same else 'rename'} one"
                )
            where[item.item_id] = place
            found[item.item_id] = item
    return list(found.values())


def _read(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where each row stands and the fields of its question."""
    try:
        for each in AnswerFile(path):
            place = f"{path}: row {each.number}"
            if each.broken is not None:
                raise SourceError(f"{place}: {each.broken}")
            try:
                fields = question_of(each.cells, path.stem)
            except (ValueError, RecursionError) as error:
                raise SourceError(f"{place}: {one_line(str(error), 300)}") from None
            yield place, fields
    except StudyError as error:
        raise SourceError(str(error)) from None
