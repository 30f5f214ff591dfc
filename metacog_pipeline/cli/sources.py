"""``fetch``: bring published data sets home, verified."""

from __future__ import annotations

from pathlib import Path

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import quiet_option, study_option
from metacog_pipeline.errors import SourceError, suggestion
from metacog_pipeline.progress import ProgressLine, style_for
from metacog_pipeline.study import load_study


@click.command()
@click.argument("names", metavar="[SOURCE]...", nargs=-1)
@study_option
@click.option(
    "--from", "folder", type=click.Path(path_type=Path), help="Take the files from this folder instead."
)
@quiet_option
@printing.json_option
def fetch(names: tuple[str, ...], study_file: Path, folder: Path | None, quiet: bool) -> None:
    """Fetch published data sets into the study's home.

    Without names, all that the study's benchmarks read; a name nobody knows is answered with those there are. Each is
    checked against the digest of its content; a download that was cut off is resumed.
    """
    from metacog_pipeline.benchmark.bound import enabled

    study = load_study(study_file)
    study.prepare()
    lines: dict[str, ProgressLine] = {}

    def show(name: str, done: int, total: int | None) -> None:
        line = lines.setdefault(name, ProgressLine(f"{name} (bytes)", total or 0, style_for(quiet)))
        line.update(done)

    sources = {source.name: source for each in enabled(study) for source in each.sources}
    wanted = names or tuple(name for each in enabled(study) for name in each.needed_sources())
    if not wanted:
        printing.say(
            "nothing to fetch: the study's data sets ship with the package, or are your own", sources=[]
        )
    for name in wanted:
        if name not in sources:
            known = f"there are: {', '.join(sorted(sources))}" if sources else "it fetches none"
            raise SourceError(f'"{name}": no data set of this study{suggestion(name, sources)}; {known}')
    for name in wanted:
        found = sources[name].fetch(study.home, folder=folder, progress=show)
        told = {"name": found.name, "rows": found.rows, "origin": str(found.origin)}
        printing.say(f"{found.name}: {found.rows} rows from {found.origin}", sources=[told])
