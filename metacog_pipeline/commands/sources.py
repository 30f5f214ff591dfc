"""``fetch``: bring published data sets home, verified."""

from __future__ import annotations

from pathlib import Path

import click

from metacog_pipeline.benchmarks.catalogue import enabled, every
from metacog_pipeline.benchmarks.common.benchmark import Benchmark
from metacog_pipeline.commands.options import quiet_option, study_option
from metacog_pipeline.errors import SourceError
from metacog_pipeline.progress import ProgressLine, style_for
from metacog_pipeline.study import load_study


@click.command()
@click.argument("names", metavar="[SOURCE]...", nargs=-1)
@study_option
@click.option(
    "--from", "folder", type=click.Path(path_type=Path), help="Take the files from this folder instead."
)
@quiet_option
def fetch(names: tuple[str, ...], study_file: Path, folder: Path | None, quiet: bool) -> None:
    """Fetch published data sets into the study's home.

    Without names, all that the study's benchmarks read. There are: medqa, metamedqa, glianorex, sst2, test4plus,
    medley, trivia_qa, trivia_qa_train, freebase_qa, nq_open, web_questions, mkqa, fictional_qa, efficientqa,
    trivia_sample, popqa, selfaware. Each is checked against the digest of its content; a download that was cut off is
    resumed.
    """
    study = load_study(study_file)
    study.home.prepare()
    lines: dict[str, ProgressLine] = {}

    def show(name: str, done: int, total: int | None) -> None:
        line = lines.setdefault(name, ProgressLine(f"{name} (bytes)", total or 0, style_for(quiet)))
        line.update(done)

    needed = [(benchmark, benchmark.needed_sources(study)) for benchmark in enabled(study)]
    for benchmark, wanted in _owners(names) if names else [pair for pair in needed if pair[1]]:
        for found in benchmark.fetch(study.home.path, wanted, folder=folder, progress=show):
            click.echo(f"{found.name}: {found.rows} rows from {found.origin}")


def _owners(names: tuple[str, ...]) -> list[tuple[Benchmark, tuple[str, ...]]]:
    """Return the named sources by the benchmark that knows them."""
    known = {name for benchmark in every() for name in benchmark.source_names}
    for name in names:
        if name not in known:
            raise SourceError(f"{name!r} is no source; there are: {', '.join(sorted(known))}")
    owned = [(benchmark, tuple(n for n in names if n in benchmark.source_names)) for benchmark in every()]
    return [(benchmark, wanted) for benchmark, wanted in owned if wanted]
