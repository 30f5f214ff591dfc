"""``report`` and ``explore``: the study as a folder of HTML pages, and its items and answers in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from metacog_pipeline.cli import printing
from metacog_pipeline.cli.options import opened, study_argument


@click.command()
@study_argument
@printing.json_option
def report(study_file: Path) -> None:
    """Write the study's boards, figures, published comparisons and transcripts as HTML pages; print where they are.

    The pages are made from the leaderboard as it stands. They open from disk and load nothing from a network.
    """
    from metacog_pipeline.report.page import build_report

    study = opened(study_file)
    page = build_report(study.home, study.study.name)
    printing.say(str(page), report=str(page))


@click.command()
@study_argument
@click.option(
    "--port",
    default=0,
    type=click.IntRange(0, 65535),
    help="Port of the server; 0 takes the next free one from 3100 on.",
)
@printing.json_option
def explore(study_file: Path, port: int) -> None:
    """Serve the explorer of items and answers on this machine; stop it with Ctrl-C.

    Items × models with correctness and confidence, and a page per item with every prompt, reply and reading. It reads the
    DuckDB file as it stands, answers on 127.0.0.1 only, and suits studies of any size; up to 100,000 answers the report has
    the same page as files.
    """
    from metacog_pipeline.ports import port_for
    from metacog_pipeline.report.explorer import data
    from metacog_pipeline.report.explorer.server import HOST, PORT, Explorer

    study = opened(study_file)
    data.contents(study.home)  # says at once where there are no boards yet
    server = Explorer(study.home, study.study.name, port_for(HOST, port, first=PORT))
    printing.say(f"Explorer of {study.study.name}: {server.address}", address=server.address)
    printing.flush()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
