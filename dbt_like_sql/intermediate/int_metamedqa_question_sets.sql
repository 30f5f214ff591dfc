-- One row: one question set the study asks now (published, corrected, sample, custom). Numbers of another set are stale
-- and stay off the boards; before the items are built, every set that has answers counts.
-- Key: dataset.
-- Source: stg_metamedqa_items, else stg_metamedqa_model_estimates.
-- #UNIQUE(dataset)
-- #NOT_NULL(dataset)
with
    asked as (select distinct dataset from stg_metamedqa_items)
select dataset from asked
union
select distinct dataset from stg_metamedqa_model_estimates where not exists (select 1 from asked)
order by dataset
