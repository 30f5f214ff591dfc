"""The study file that answers are imported into: models and runs that it lacks are added to its text, or it is made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import write_text
from metacog_pipeline.study import Study, load_study

_SLUG = re.compile(r"[^a-z0-9._-]+")
_RUNS = re.compile(r"^(\s*runs\s*=\s*)\d+", re.MULTILINE)


def names_of(study: Study | None, models: Iterable[str]) -> dict[str, str]:
    """Return the study's name of each model of a log: a replayed row with this ``model``, or a new name."""
    rows = () if study is None else study.askable
    known = {each.model: each.name for each in rows if each.provider == "replay"}
    taken = {each.name for each in rows}
    found: dict[str, str] = {}
    for model in dict.fromkeys(models):
        whole, short = slug(model), slug(model.rpartition("/")[2])
        names = (short, whole, *(f"{whole[:60]}-{n}" for n in range(2, 99)))
        found[model] = known.get(model) or next(name for name in names if name not in taken)
        taken.add(found[model])
    return found


def slug(text: str) -> str:
    """Return a name as study files have them."""
    return _SLUG.sub("-", text.casefold()).strip("-._")[:64] or "model"


def fitted(
    path: Path, study: Study | None, models: Mapping[str, str], runs: int, tables: Sequence[str] = (),
    condition: tuple[str, str] | None = None,
) -> Study:  # fmt: skip
    """Return the study with a replayed row for each of ``models`` (name in the log → name here), ``runs`` runs and the
    tables given as text; its file is changed only where something lacks, and is left as it was where that fails.
    ``condition`` names a benchmark and a condition that it lacks: it is added where no model is asked.

    Raises ``StudyError`` where the study asks models and has too few runs, or its file cannot take the rows.
    """
    before = text = None if study is None else path.read_text("utf-8")
    if text is None or study is None:
        name = re.sub(r"[^A-Za-z0-9 ._-]+", "-", path.stem).strip("-._ ") or "study"
        text = "# Made by metacog import: no model is asked. docs/study.md has every key.\n"
        text += f"[study]\nname = {json.dumps(name)}\nruns = {runs}\n"
        there = set()
    else:
        there = {each.name for each in study.models}
        if study.study.runs < runs:
            text = _with_runs(path, text, study, runs)
        if condition is not None:
            text = _with_condition(path, text, study, *condition)
    rows = (
        f'[[models]]\nname = "{name}"\nprovider = "replay"\nmodel = {json.dumps(model)}'
        for model, name in models.items()
        if name not in there
    )
    for table in (*rows, *tables):
        text = text.rstrip("\n") + f"\n\n{table}\n"
    if study is not None and text == before:
        return study
    write_text(path, text)
    try:
        return load_study(path)
    except StudyError as error:
        if before is None:
            path.unlink(missing_ok=True)
        else:
            write_text(path, before)
        raise StudyError(
            f"{error}; the rows of the log could not be added to {path.name}, which is as it was"
        ) from None


def _asks(study: Study) -> bool:
    return any(each.provider != "replay" for each in study.models)


def _with_runs(path: Path, text: str, study: Study, runs: int) -> str:
    if _asks(study):
        raise StudyError(
            f"{path}: the study has runs 1 to {study.study.runs}, the answers are of run {runs} too; "
            f"set study.runs = {runs} (models that are asked will be asked as often), or give the run with --run"
        )
    found, n = _RUNS.subn(rf"\g<1>{runs}", text, count=1)
    return found if n else text.replace("[study]", f"[study]\nruns = {runs}", 1)


def _with_condition(path: Path, text: str, study: Study, benchmark: str, condition: str) -> str:
    table, settings = f"[benchmarks.{benchmark}]\n", study.benchmarks[benchmark]
    now = json.dumps([*settings.model_dump()["conditions"], condition])
    if not _asks(study):
        if "conditions" not in settings.model_fields_set and table in text:
            return text.replace(table, f"{table}conditions = {now}\n", 1)
        found, n = re.subn(
            rf"(^\[benchmarks\.{benchmark}\](?:(?!^\[).)*?^conditions\s*=\s*\[)", rf'\g<1>"{condition}", ', text,
            count=1, flags=re.MULTILINE | re.DOTALL,
        )  # fmt: skip
        if n:
            return found
    raise StudyError(
        f"{path}: the answers of the log are those of {condition}; write conditions = {now} below {table.strip()}"
    )
