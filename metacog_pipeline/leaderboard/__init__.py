"""The leaderboard: one self-contained DuckDB file, made of the Parquet datasets of a study by SQL files.

Holds what stands in the file (``dbt_like_sql/``: one SELECT a table), how it is built (`build`: staged, tested, swapped in;
`plan` says what changed, `views` and `staging` what SQL may read, `snapshot` what it was made from), how it is read
(`read`, `output`, `printing`, `export`), what its columns mean (`glossary.toml`), and the texts beside it (`texts`). It
computes no statistic, asks nobody, and names no benchmark. Start with ``build.build``.
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
