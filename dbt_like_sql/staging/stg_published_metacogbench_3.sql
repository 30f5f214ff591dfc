-- One row: one model of table 3, one run of 41 tasks, as printed.
-- Key: model.
-- Source: published/metacogbench/table_3.csv.
-- materialized: view
-- #UNIQUE(model)
-- #NOT_NULL(model, ece_pre, ms, saf, cdtc, overall)
-- columns:
--   t1a_k: betting tasks passed of t1a_n; likewise 2a, 2b, 3
--   ece_pre: expected calibration error of the predictions, 0 to 1
select *
from read_csv(
    'published/metacogbench/table_3.csv',
    header = true,
    columns = {
        'model': 'varchar', 't1a_k': 'bigint', 't1a_n': 'bigint', 'ece_pre': 'double', 't2a_k': 'bigint',
        't2a_n': 'bigint', 't2b_k': 'bigint', 't2b_n': 'bigint', 't3_k': 'bigint', 't3_n': 'bigint', 'ms': 'double',
        'saf': 'double', 'cdtc': 'double', 'overall': 'double'
    }
)
