-- One row: one measure of one model, task, condition and run.
-- Key: dataset, task, condition, model, run, measure.
-- Source: estimates/signaldetection/runs.
-- materialized: view
-- columns:
--   estimate: null when there is no value; status says why
--   low: lower end of the 95 % interval
--   high: upper end of the 95 % interval
--   n: answers the value rests on
--   coverage: readable answers / items, 0 to 1
--   method: how value and interval were made, and which edge correction of the counts was used
select
    benchmark,
    dataset,
    task,
    regexp_replace(condition, '^[ABC] ', '') as condition,
    model,
    run,
    measure,
    estimate,
    low,
    high,
    sem,
    n,
    n_failed,
    coalesce(n_unreadable, n_unparsable) as n_unparsable,
    coverage,
    method,
    status,
    source
from read_parquet('estimates/signaldetection/runs/**/*.parquet', hive_partitioning = false, union_by_name = true)
