"""``export``, ``cite``, ``bundle``, ``reproduce``: what a study found leaves, and comes again elsewhere."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import opened, study_argument
from metacog_pipeline.errors import MetacogError, StoreError, StudyError
from metacog_pipeline.exporting import FORMATS

_OTHER_ARCHIVES = (".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar")


@click.command()
@study_argument
@click.option(
    "--to", "target", type=click.Path(path_type=Path), required=True, metavar="DIR", help="A new folder."
)
@click.option(
    "--format", "form", type=click.Choice(list(FORMATS)), required=True, help="What others read it with."
)
@printing.json_option
def export(study_file: Path, target: Path, form: str) -> None:
    """Write what a study found to a new folder, in a format that others read.

    Keys, credentials and personal paths are taken out; items whose licence forbids copies leave as id and digest. Nobody is
    asked, and nothing that is there is overwritten. The same study gives the same bytes.
    """
    from metacog_pipeline.exporting import writer
    from metacog_pipeline.exporting.facts import Facts
    from metacog_pipeline.exporting.folders import new_folder, refuse_taken
    from metacog_pipeline.leaderboard.read import one_connection

    refuse_taken(target)
    study = opened(study_file)
    with one_connection(study.home), new_folder(target) as folder:  # all that leaves is of one board
        lines = writer(form)(Facts.of(study), folder)
    printing.say(f"wrote {target}: {'; '.join(lines)}", wrote=[str(target)], told=lines)


@click.command()
@study_argument
@printing.json_option
def cite(study_file: Path) -> None:
    """Print BibTeX of the papers, the data sets and the software behind the boards of a study."""
    from metacog_pipeline.exporting.citing import bibtex

    text = bibtex(opened(study_file))
    printing.say(text.rstrip(), bibtex=text)


@click.command()
@study_argument
@click.option("--to", "target", type=click.Path(path_type=Path), metavar="FILE", help="A new file, NAME.zip.")
@printing.json_option
def bundle(study_file: Path, target: Path | None) -> None:
    """Write one archive that a paper can cite, and from which `metacog reproduce` makes the boards again.

    It holds the study file, items (their digests where a licence forbids copies), every answer, versions, seeds, checksums
    and all tables. Keys, addresses with credentials and personal paths are taken out. The same study gives the same bytes.
    """
    from metacog_pipeline.exporting import bundle as bundles
    from metacog_pipeline.exporting.facts import Facts
    from metacog_pipeline.exporting.folders import refuse_taken, writable
    from metacog_pipeline.leaderboard.read import one_connection

    study = opened(study_file)
    if target is not None and target.suffix.lower() in _OTHER_ARCHIVES:
        raise StudyError(f'--to "{target}": a bundle is a zip archive; give a name that ends in .zip')
    # All that leaves is of one board.
    with one_connection(study.home), tempfile.TemporaryDirectory() as folder:
        facts = Facts.of(study)
        target = target or Path(f"{study.study.name.replace(' ', '-')}-{facts.about()['snapshot']}.zip")
        refuse_taken(target)
        with writable(target):
            about = bundles.write(facts, Path(folder))
            bundles.pack(Path(folder), target)
    told = f"{len(about['files'])} files, {target.stat().st_size:,} bytes, seal {about[bundles.SEAL][:12]}"
    printing.say(
        f"wrote {target}: {told}", wrote=[str(target)], seal=about[bundles.SEAL], files=len(about["files"])
    )


@click.command()
@click.argument("archive", metavar="BUNDLE", type=click.Path(path_type=Path))
@click.option("--to", "target", type=click.Path(path_type=Path), metavar="DIR", help="A new folder.")
@click.option(
    "--from",
    "given",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Copies of data sets whose licence kept them out of the bundle.",
)
@printing.json_option
def reproduce(archive: Path, target: Path | None, given: Path | None) -> None:
    """Make boards and report again from BUNDLE, and say table by table whether each is equal byte by byte.

    Nobody is asked and nothing is fetched. With another version of the program the lines of the changelog are printed that
    say why numbers shift. The exit code is 1 where a table differs.
    """
    from metacog_pipeline import __version__
    from metacog_pipeline.exporting import reproduce as again
    from metacog_pipeline.exporting.folders import new_folder, refuse_taken
    from metacog_pipeline.report.page import build_report
    from metacog_pipeline.study import load_study

    if not archive.is_file():
        what = "is a folder" if archive.is_dir() else "there is no such file"
        raise StoreError(f"{archive}: {what}; give the archive that metacog bundle wrote")
    target = target or archive.with_name(f"{archive.stem}-reproduced")
    refuse_taken(target)
    with tempfile.TemporaryDirectory() as unpacked:
        place = Path(unpacked)
        about = again.unpack(archive, place)
        with new_folder(target) as folder:
            again.rebuild(place, folder, about, given)
        study = load_study(target / "study.toml")
        tables = list(again.compare(study, place))
    build_report(study.home, study.study.name)
    differ = [each for each in tables if each.differs is not None]
    for each in tables:
        printing.say(f"{each.name}: {each.differs or f'equal, {each.rows:,} rows'}")
    rows = [
        {"table": each.name, "rows": each.rows, "equal": each.differs is None, "why": each.differs}
        for each in tables
    ]
    printing.say("", tables=rows, version=about["board_version"], here=__version__, home=str(study.home))
    if not differ:
        printing.say(
            f"{len(tables)} of {len(tables)} tables are equal byte by byte; the study is in {target}"
        )
        return
    lines = again.scores_lines(about["board_version"], set(again.benchmarks_of(study)))
    printing.say(scores=lines)
    for line in lines if about["board_version"] != __version__ else ():
        printing.say(f"  {line}")
    printing.flush()
    told = f"made by version {about['board_version']}, this is {__version__}"
    raise MetacogError(
        f"{len(differ)} of {len(tables)} tables differ ({told}): {differ[0].name}: {differ[0].differs}"
    )
