-- One row: one data set and task of a benchmark that the study asks, and one with task '' per data set. Before items are built,
-- data sets with estimates count.
-- Key: benchmark, dataset, task.
-- Source: items, estimates.
with sets as (
    select distinct benchmark, dataset, coalesce(task, '') as task from kept_items
    union
    select distinct benchmark, dataset, coalesce(task, '') from stg_estimates
    where dataset is not null and benchmark in (from asked_benchmarks)
        and benchmark not in (select benchmark from kept_items)
)
from sets union select benchmark, dataset, '' from sets order by all
