"""The leaderboard: one self-contained DuckDB file, made of the Parquet datasets of a study by ``dbt_like_sql/``.

Start with `build.build`. `models` reads the SQL files and `header` their comments, `datasets` and `views` say what SQL may
read, `checks` tests the tables, `texts` makes the file of prompts and replies beside it; `status` writes what the study
asks and how far it is. `read` queries the board, `output` and `printing` show it, `explanation` recounts one number of it,
and `shared` carries it between hosts. Nothing here computes a statistic, asks a model, or names a benchmark.
"""
