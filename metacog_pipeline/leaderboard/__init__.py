"""The leaderboard: one self-contained DuckDB file, made of the Parquet datasets of a study by SQL files.

Holds what stands in the file (``dbt_like_sql/``: one SELECT a table), how it is built (`build`: staged, tested, swapped in;
`plan` says what changed, `views` and `staging` what SQL may read, `snapshot` what it was made from), how it is read
(`read`, `output`, `printing`, `export`), what its columns mean (`glossary.toml`), and the texts beside it (`texts`). It
computes no statistic, asks nobody, and names no benchmark. Start with ``build.build``.
"""
