-- One row: one betting task of the first 13 and one model, as printed.
-- Key: task, model.
-- Source: published/metacogbench/table_4.csv.
-- materialized: view
-- #UNIQUE(task, model)
-- #NOT_NULL(task, family, model, passed)
-- #SET{passed: 0|1}
select
    task,
    family,
    model,
    passed
from read_csv(
    'published/metacogbench/table_4.csv',
    header = true,
    columns = {'task': 'varchar', 'family': 'varchar', 'model': 'varchar', 'passed': 'bigint'}
)
