-- One row: one measure of one benchmark, with its definition.
-- Key: benchmark, measure.
-- Source: what the benchmarks declare, estimates, calibration, published_values, study/boards.parquet.
-- #NOT_NULL(benchmark, measure, headline)
-- columns:
--   min: least possible value
--   max: largest possible value
--   headline: whether the benchmark is summed up by it among others
--   headline_condition: the condition under which it is: the plain one where it was asked, else the first
--   detail: whether only experts look for it: no board and no question of the verdict shows it
--   definition: how it is computed, in one or two sentences
with
    known as (
        select benchmark, measure from stg_measures where not starts_with(measure, 'harmonised_')
        union
        select benchmark, measure from estimates
        union
        select benchmark, measure from calibration
        union
        select benchmark, measure from published_values where model is not null
    ),
    asked_under as (
        select distinct est.benchmark, est.measure, est.condition, boards.condition is not null as plain
        from estimates as est
        inner join stg_measures as said using (benchmark, measure)
        left join stg_boards as boards on boards.benchmark = est.benchmark and boards.condition = est.condition
        where said.headline
    ),
    chosen as (
        select benchmark, measure, condition
        from asked_under
        qualify row_number() over (partition by benchmark order by plain desc, condition) = 1
    )
select
    benchmark,
    measure,
    said.label,
    said.unit,
    said.min,
    said.max,
    said.higher_is_better,
    coalesce(said.headline, false) as headline,
    chosen.condition as headline_condition,
    coalesce(said.detail, true) as detail,
    said.paper,
    said.definition
from known
left join stg_measures as said using (benchmark, measure)
left join chosen using (benchmark, measure)
order by benchmark, measure
