"""The leaderboard: SQL files run over the Parquet datasets of a study into one DuckDB file.

``build`` makes and tests a new database beside the old and swaps it in; ``connect`` and ``run_query`` read it;
``load_models`` tells what each SQL file makes, reads and promises.
"""

from metacog_pipeline.warehouse.leaderboard import render_board
from metacog_pipeline.warehouse.models import SqlModel, SqlTest, load_models
from metacog_pipeline.warehouse.official import missing_partitions, publish_official
from metacog_pipeline.warehouse.output import FORMATS, Format, render
from metacog_pipeline.warehouse.query import Rows, board, connect, run_query
from metacog_pipeline.warehouse.runner import BuildReport, ModelReport, build

__all__ = [
    "FORMATS",
    "BuildReport",
    "Format",
    "ModelReport",
    "Rows",
    "SqlModel",
    "SqlTest",
    "board",
    "build",
    "connect",
    "load_models",
    "missing_partitions",
    "publish_official",
    "render",
    "render_board",
    "run_query",
]
