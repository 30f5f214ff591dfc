"""What a model says about questions in three settings, as a table per question and as numbers with intervals.

``dual``: a direct and a meta answer, both generated. ``threshold``: the meta answer is yes where the score of the yes
word is above that of the no word; its table also has their ratio and the certainty D. ``idk``: one prompt in which
"I don't know" may be answered.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Asking, Heard, Interview
from metacog_pipeline.benchmarks.selfknowledge.training.causal.questions import Question
from metacog_pipeline.benchmarks.selfknowledge.training.figures import D, estimates
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import outcome
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import replacing
from metacog_pipeline.llm.local.loading import Loaded
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.estimate import Estimate

if TYPE_CHECKING:
    import polars as pl

Setting = Literal["dual", "threshold", "idk"]
SETTINGS: tuple[Setting, ...] = ("dual", "threshold", "idk")
LEFT_OUT = -100  # stands in the failure columns where a row does not count


def hear(loaded: Loaded, questions: Sequence[Question], asking: Asking, setting: Setting) -> list[Heard]:
    """Ask all questions in a setting.

    Raises StudyError when the setting does not go with the language or the tokenizer.
    """
    if setting == "idk":
        if asking.language != "en":
            raise StudyError("the idk setting is asked in English only")
        return Interview(loaded, questions, asking).ask_idk()
    return Interview(
        loaded, questions, replace(asking, meta="threshold" if setting == "threshold" else "text")
    ).ask()


def table(questions: Sequence[Question], heard: Sequence[Heard]) -> pl.DataFrame:
    """Return one row per question; the failure columns hold -100 where their condition does not hold.

    ``yes_over_no`` and ``confidence`` are there where certainty was asked for.
    """
    import polars as pl

    rows = [_row(question, said) for question, said in zip(questions, heard, strict=True)]
    return pl.DataFrame(rows, infer_schema_length=None)


def write_table(path: Path, rows: pl.DataFrame) -> None:
    """Write the table as TSV."""
    with replacing(path) as temporary:
        rows.write_csv(temporary, separator="\t")


def measured(heard: Sequence[Heard]) -> dict[str, Estimate]:
    """Return d'type2 (log-linear), the area of D where it is there, and the shares, with 95 % intervals."""
    found = estimates(outcome([each.correct for each in heard], [each.yes for each in heard]))
    d, shares = found.pop(D), found
    found = {D: d}
    sure = [each.certainty for each in heard if each.certainty is not None]
    if len(sure) == len(heard) and sure:
        found["auroc2"] = auroc(np.array(sure), np.array([int(each.correct) for each in heard]))
    return {**found, **shares}


def all_alignment(dual: Sequence[Heard], idk: Sequence[Heard]) -> float | None:
    """Return the share of questions where being right, saying yes and not abstaining all agree; null without questions."""
    same = [a.correct == a.yes == b.yes for a, b in zip(dual, idk, strict=True)]
    return sum(same) / len(same) if same else None


def _row(question: Question, said: Heard) -> dict[str, Any]:
    row: dict[str, Any] = {
        "question_id": question.id,
        "question": question.text,
        "ground_truths": json.dumps(list(question.answers), ensure_ascii=False),
        "prediction": said.direct,
        "meta_answer": said.meta,
        "direct_correctness": int(said.correct),
        "yes": int(said.yes),
        "yes_failures": int(not said.correct) if said.yes else LEFT_OUT,
        "no_failures": LEFT_OUT if said.yes else int(said.correct),
        "meta_alignments": int(said.correct == said.yes),
    }
    if said.certainty is not None:
        sure = said.certainty
        row |= {"yes_over_no": sure / (1 - sure) if sure < 1 else math.inf, "confidence": sure}
    return row
