-- One row: one data set of MEDLEY instances the study asks now. Numbers of others are stale and stay off the boards; before
-- the instances are built, all that have answers count. None when the study does not ask this benchmark.
-- Key: dataset.
-- Source: stg_medley_items, else stg_medley_model_estimates; int_benchmarks.
-- #UNIQUE(dataset)
-- #NOT_NULL(dataset)
-- columns:
--   dataset: published, sample (written for this project) or custom (the study's own)
with
    asked as (select distinct dataset from stg_medley_items),
    found as (
        select dataset from asked
        union
        select distinct dataset from stg_medley_model_estimates where not exists (select 1 from asked)
    )
select dataset
from found
where exists (select 1 from int_benchmarks where benchmark = 'medley')
order by dataset
