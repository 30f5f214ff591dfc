-- One row: one set of MetaCog-Bench tasks the study asks now. Numbers of others are stale and stay off the boards; before
-- the items are built, all that have answers count. None when the study does not ask this benchmark.
-- Key: dataset.
-- Source: stg_metacogbench_items, else stg_metacogbench_model_estimates; int_benchmarks.
-- #UNIQUE(dataset)
-- #NOT_NULL(dataset)
-- columns:
--   dataset: metacog147 or metacog41
with
    asked as (select distinct dataset from stg_metacogbench_items),
    found as (
        select dataset from asked
        union
        select distinct dataset from stg_metacogbench_model_estimates where not exists (select 1 from asked)
    )
select dataset
from found
where exists (select 1 from int_benchmarks where benchmark = 'metacogbench')
order by dataset
