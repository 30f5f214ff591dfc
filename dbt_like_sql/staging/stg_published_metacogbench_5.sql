-- One row: one model and difficulty of the first 14 predictions, as printed, in percent.
-- Key: model, difficulty.
-- Source: published/metacogbench/table_5.csv.
-- materialized: view
-- #UNIQUE(model, difficulty)
-- #NOT_NULL(model, difficulty, n_items, pre_pct, post_pct, accuracy_pct)
select
    model,
    difficulty,
    n_items,
    pre_pct,
    post_pct,
    accuracy_pct
from read_csv(
    'published/metacogbench/table_5.csv',
    header = true,
    columns = {
        'model': 'varchar', 'difficulty': 'varchar', 'n_items': 'bigint', 'pre_pct': 'double', 'post_pct': 'double',
        'accuracy_pct': 'double'
    }
)
