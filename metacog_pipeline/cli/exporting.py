"""``export``: the results of a study in formats that others read, or as one archive."""

from __future__ import annotations

from pathlib import Path

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import PATH, opened, study_argument
from metacog_pipeline.exporting import FORMATS

BUNDLE = "bundle"
_FORM = click.Choice([*FORMATS, BUNDLE])


@click.command()
@study_argument
@click.option("--to", "target", type=PATH, metavar="PATH", help="A new folder; of a bundle NAME.zip.")
@click.option("--format", "form", type=_FORM, required=True, help="What others read it with.")
@printing.json_option
def export(study_file: Path, target: Path | None, form: str) -> None:
    """Write the results of a study to a new folder, in a format that others read.

    Keys, credentials and personal paths are taken out; items whose licence forbids copies leave as id and digest. No model
    is asked, and no existing file is overwritten. The same study gives the same bytes.

    `bundle` is one archive that a paper can cite: study file, items, every answer, versions, seeds, checksums and all
    tables; `metacog doctor --bundle` rebuilds the boards from it.
    """
    if form == BUNDLE:
        from metacog_pipeline.exporting import bundle

        path, about = bundle.write_archive(opened(study_file), target)
        seal, files = about[bundle.SEAL], len(about["files"])
        summary = f"{files} files, {path.stat().st_size:,} bytes, seal {seal[:12]}"
        printing.say(f"wrote {path}: {summary}", wrote=[str(path)], seal=seal, files=files)
    else:
        from metacog_pipeline.exporting.formats import write_folder

        if target is None:
            raise click.UsageError(f"--to is missing: give the new folder of --format {form}")
        line = write_folder(opened(study_file), target, form)
        printing.say(f"wrote {target}: {line}", wrote=[str(target)], told=[line])
