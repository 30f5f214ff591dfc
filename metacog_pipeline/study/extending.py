"""The study file that answers are imported into: models and runs that it lacks are added to its text, or it is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import write_text
from metacog_pipeline.study.new_file import slug, study_name
from metacog_pipeline.study.study_file import Study, load_study

_HEAD = "# Made by metacog import: no model is asked. docs/study.md has every key.\n"


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


def extend(
    path: Path, study: Study | None, models: Mapping[str, str], runs: int, asked: tuple[str, str] | None = None
) -> Study:  # fmt: skip
    """Write a replayed row for each of ``models`` (name in the log → name here) and ``runs`` runs; return the study.

    ``asked`` is a benchmark of questions and the condition it must have. The file is left as it was where that fails.
    """
    import tomlkit  # late: a table about known items and models changes no study

    before = _HEAD if study is None else path.read_text("utf-8")
    text = tomlkit.parse(before)
    if study is None:
        text["study"] = {"name": study_name(path), "runs": runs}
    there = () if study is None else study.models
    # more runs or conditions of models that are asked cost money: they are not added to the file
    asks = any(each.provider != "replay" for each in there)
    if study is not None and study.study.runs < runs:
        if asks:
            raise StudyError(
                f"{path}: the study has runs 1 to {study.study.runs}, the answers are of run {runs} too; "
                f"set study.runs = {runs} (models that are asked will be asked as often), or give the run with --run"
            )
        text["study"]["runs"] = runs
    for model, name in models.items():
        if name not in {each.name for each in there}:
            row = {"name": name, "provider": "replay", "model": model}
            text.setdefault("models", tomlkit.aot()).append(row)
    if asked is not None:
        benchmark, condition = asked
        settings = None if study is None else study.benchmarks.get(benchmark)
        conditions = [] if settings is None else settings.model_dump()["conditions"]
        if condition not in conditions:
            now = [*conditions, condition]
            if settings is not None and asks:
                advice = f"write conditions = {now} below [benchmarks.{benchmark}]".replace("'", '"')
                raise StudyError(f"{path}: the answers of the log are those of {condition}; {advice}")
            tables = text.setdefault("benchmarks", tomlkit.table(is_super_table=True))
            new = {"items": [], "conditions": [], "allow_incomplete": True}
            tables.setdefault(benchmark, new)["conditions"] = now
    if study is not None and tomlkit.dumps(text) == before:
        return study
    write_text(path, tomlkit.dumps(text))
    try:
        return load_study(path)
    except StudyError as error:
        path.unlink() if study is None else write_text(path, before)
        why = f"the rows of the log could not be added to {path.name}, which is as it was"
        raise StudyError(f"{error}; {why}") from None
