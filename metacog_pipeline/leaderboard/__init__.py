"""The leaderboard: one self-contained DuckDB file, made of the Parquet datasets of a study by ``dbt_like_sql/``.

Start with `build.build`. `sql_folder` reads the SQL files, `datasets` and `views` say what SQL may read; `status` writes
what the study asks and how far it is. `read` queries the board; `printing`, `verdict` and `output` show it; `glossary` says
what a number means; `publishing` carries boards between hosts. Nothing here computes a statistic or asks a model.
"""
