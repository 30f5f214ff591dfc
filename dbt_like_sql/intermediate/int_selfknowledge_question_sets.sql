-- One row: one data set of questions the study asks now about self-knowledge. Numbers of others are stale and stay off the
-- boards; before the items are built, all that have answers count. None when the study does not ask this benchmark.
-- Key: dataset.
-- Source: stg_selfknowledge_items, else stg_selfknowledge_model_estimates; int_benchmarks.
-- #UNIQUE(dataset)
-- #NOT_NULL(dataset)
with
    asked as (select distinct dataset from stg_selfknowledge_items),
    found as (
        select dataset from asked
        union
        select distinct dataset from stg_selfknowledge_model_estimates where not exists (select 1 from asked)
    )
select dataset
from found
where exists (select 1 from int_benchmarks where benchmark = 'selfknowledge')
order by dataset
