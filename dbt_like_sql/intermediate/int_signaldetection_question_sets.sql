-- One row: one data set and task the study asks now. Numbers of others are stale and stay off the boards; before the
-- items are built, all that have answers count. None when the study does not ask this benchmark.
-- Key: dataset, task.
-- Source: stg_signaldetection_items, else stg_signaldetection_model_estimates; int_benchmarks.
-- #UNIQUE(dataset, task)
-- #NOT_NULL(dataset, task)
-- columns:
--   dataset: published (drawn from the sources of the paper) or sample (written for this project)
with
    asked as (select distinct dataset, task from stg_signaldetection_items),
    found as (
        select dataset, task from asked
        union
        select distinct dataset, task from stg_signaldetection_model_estimates where not exists (select 1 from asked)
    )
select
    dataset,
    task
from found
where exists (select 1 from int_benchmarks where benchmark = 'signaldetection')
order by dataset, task
