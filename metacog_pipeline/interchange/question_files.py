"""Files of questions as items: JSON Lines, JSON, CSV or Parquet, one question a row; a row that is none is an error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

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
        place = str(path)
        try:
            for each in AnswerFile(path):
                place = f"{path}: row {each.number}"
                if each.broken is not None:
                    raise SourceError(f"{place}: {each.broken}")
                item = row(**question_of(each.cells, path.stem), position=len(found))
                if item.item_id in where:
                    both = (item, found[item.item_id])
                    same = len({content_digest(one.question, one.options) for one in both}) == 1
                    what = "the same question" if same else f"id {item.item_id!r}"
                    advice = f"is at {where[item.item_id]} already; {'remove' if same else 'rename'} one"
                    raise SourceError(f"{place}: {what} {advice}")
                where[item.item_id], found[item.item_id] = place, item
        except StudyError as error:
            raise SourceError(str(error)) from None
        except (ValueError, RecursionError) as error:
            raise SourceError(f"{place}: {one_line(str(error), 300)}") from None
    return list(found.values())
