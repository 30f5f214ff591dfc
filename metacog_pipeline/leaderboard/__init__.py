"""The leaderboard: SQL files run over the Parquet datasets of a study into one DuckDB file.

``build`` makes and tests a new database beside the old and swaps it in; ``connect`` and ``run_query`` read it;
``load_models`` tells what each SQL file makes, reads and promises.
"""

from metacog_pipeline.leaderboard.build import BuildReport, TableReport, build
from metacog_pipeline.leaderboard.models import SqlModel, SqlTest, load_project
from metacog_pipeline.leaderboard.official import missing_partitions, publish_official
from metacog_pipeline.leaderboard.output import FORMATS, Format, render
from metacog_pipeline.leaderboard.printing import render_board
from metacog_pipeline.leaderboard.read import Rows, board, connect, run_query

__all__ = [
    "FORMATS",
    "BuildReport",
    "Format",
    "Rows",
    "SqlModel",
    "SqlTest",
    "TableReport",
    "board",
    "build",
    "connect",
    "load_project",
    "missing_partitions",
    "publish_official",
    "render",
    "render_board",
    "run_query",
]
