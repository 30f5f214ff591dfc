-- One row: one model of table 7, three runs of 147 tasks, as printed.
-- Key: model.
-- Source: published/metacogbench/table_7.csv.
-- materialized: view
-- #UNIQUE(model)
-- #NOT_NULL(model, t1a_pct_mean, ece_pre_mean, t2a_pct_mean, t2b_pct_mean, t3_pct_mean, ms_mean, saf_mean, overall_mean)
-- columns:
--   t1a_pct_mean: percent of tasks passed, mean of three runs; likewise 2a, 2b, 3
--   t1a_pct_std: standard deviation over the runs
select *
from read_csv(
    'published/metacogbench/table_7.csv',
    header = true,
    columns = {
        'model': 'varchar', 't1a_pct_mean': 'double', 't1a_pct_std': 'double', 'ece_pre_mean': 'double',
        'ece_pre_std': 'double', 't2a_pct_mean': 'double', 't2a_pct_std': 'double', 't2b_pct_mean': 'double',
        't2b_pct_std': 'double', 't3_pct_mean': 'double', 't3_pct_std': 'double', 'ms_mean': 'double',
        'ms_std': 'double', 'saf_mean': 'double', 'saf_std': 'double', 'cdtc_mean': 'double', 'cdtc_std': 'double',
        'overall_mean': 'double', 'overall_std': 'double'
    }
)
