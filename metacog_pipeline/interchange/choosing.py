"""Which benchmark of a study a file of answers is about: the one that is named, or the only one it fits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from metacog_pipeline.benchmark.bound import Bound, bound
from metacog_pipeline.errors import StudyError, one_line, suggestion
from metacog_pipeline.interchange.imported import ImportOptions
from metacog_pipeline.interchange.importing import takes
from metacog_pipeline.study import Study


def benchmark_of(
    study: Study, name: str | None, file: Path, pairs: Sequence[str], options: ImportOptions
) -> Bound:
    """Return the benchmark that is named, or else the only one the file fits; raise `StudyError` where there is none."""
    return fitting_benchmark(study, file, pairs, options) if name is None else named_benchmark(study, name)


def named_benchmark(study: Study, name: str) -> Bound:
    """Return the benchmark of this name; raise `StudyError` where the study has none, or it takes no imports."""
    if name not in study.enabled:
        raise StudyError(
            f'import: "{name}" is not enabled in {study.path.name}{suggestion(name, study.enabled)}; '
            f"it has: {', '.join(study.enabled)}"
        )
    into = bound(study, name)
    if into.importer is None:
        raise StudyError(
            f"import: answers to {name} cannot be imported; `metacog fit FILE` fits a table of trials"
        )
    return into


def fitting_benchmark(study: Study, file: Path, pairs: Sequence[str], options: ImportOptions) -> Bound:
    """Return the only benchmark of the study that the file is about; raise `StudyError` for none or several."""
    found = [into for name in study.enabled if (into := bound(study, name)).importer is not None]
    if len(found) == 1:
        return found[0]
    if pairs and len(takers := [into for into in found if takes(into, pairs)]) == 1:
        return _taken(takers[0], "the only benchmark of the study with the fields that are mapped", options)
    why: dict[str, str | None] = {}
    for into in found:
        if into.importer is not None and into.importer.misfit is not None:
            why[into.name] = into.importer.misfit(into, file, pairs, options)
    fitting = [into for into in found if into.name in why and why[into.name] is None]
    if len(fitting) != 1:
        names = ", ".join(into.name for into in fitting or found)
        told = "several benchmarks fit" if fitting else "no benchmark of the study fits"
        reasons = "" if fitting else "".join(f"; {name}: {one_line(str(why[name]), 160)}" for name in why)
        raise StudyError(f"{file}: {told}; name one before the file, out of {names}{reasons}")
    return _taken(fitting[0], "the only benchmark of the study that it fits", options)


def _taken(into: Bound, why: str, options: ImportOptions) -> Bound:
    if options.show is not None:
        options.show(f"taken as answers to {into.name}, {why}")
    return into
