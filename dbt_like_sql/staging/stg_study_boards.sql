-- One row: one benchmark whose study decides under which condition a model stands before anything of it is scored.
-- Key: benchmark.
-- Source: study/boards.parquet, written from the study file.
-- materialized: view
-- #UNIQUE(benchmark)
-- #NOT_NULL(benchmark, condition)
-- columns:
--   condition: as on the board, such as "normal paper"
select
    benchmark,
    condition
from read_parquet('study/boards*.parquet', hive_partitioning = false, union_by_name = true)
