-- One row: one category scored by a language model and by rules, as printed, in percent.
-- Key: category.
-- Source: published/metacogbench/table_6.csv.
-- materialized: view
-- #UNIQUE(category)
-- #NOT_NULL(category, judge_pct, deterministic_pct, drop_points)
select
    category,
    judge_pct,
    deterministic_pct,
    drop_points
from read_csv(
    'published/metacogbench/table_6.csv',
    header = true,
    columns = {'category': 'varchar', 'judge_pct': 'double', 'deterministic_pct': 'double', 'drop_points': 'double'}
)
