-- One row: one question set the study asks now (published, corrected, sample, custom). Numbers of another set are stale
-- and stay off the boards; before the items are built, every set that has answers counts. None when the study does not
-- ask this benchmark.
-- Key: dataset.
-- Source: stg_metamedqa_items, else stg_metamedqa_model_estimates; int_benchmarks.
-- #UNIQUE(dataset)
-- #NOT_NULL(dataset)
with
    asked as (select distinct dataset from stg_metamedqa_items),
    found as (
        select dataset from asked
        union
        select distinct dataset from stg_metamedqa_model_estimates where not exists (select 1 from asked)
    )
select dataset
from found
where exists (select 1 from int_benchmarks where benchmark = 'metamedqa')
order by dataset
