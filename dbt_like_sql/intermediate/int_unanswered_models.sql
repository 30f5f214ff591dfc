-- One row: one listed model, benchmark and condition for which nothing was scored: it is still named on the board.
-- Key: benchmark, condition, model.
-- Source: int_benchmarks, int_listed_models, stg_study_partitions, stg_study_boards, int_metamedqa_cells,
-- int_signaldetection_cells, int_signaldetection_question_sets, medley_estimates, metacogbench_estimates,
-- selfknowledge_estimates, int_estimates.
-- #UNIQUE(benchmark, condition, model)
-- #NOT_NULL(benchmark, condition, model, n_failed)
-- columns:
--   n_failed: calls that ended without an answer, over all runs
with
    answered as (
        select distinct 'metamedqa' as benchmark, condition from int_metamedqa_cells
        union
        select distinct 'signaldetection', task || ' ' || condition from int_signaldetection_cells
        union
        select distinct 'medley', condition || ' ' || variant from medley_estimates
        union
        select distinct 'metacogbench', condition from metacogbench_estimates
        union
        select distinct 'selfknowledge', condition from selfknowledge_estimates
    ),
    first_condition as (
        select 'metamedqa' as benchmark, 'baseline' as condition
        union
        select 'signaldetection', task || ' confidence' from int_signaldetection_question_sets
        union
        select 'signaldetection', 'A confidence' where not exists (select 1 from int_signaldetection_question_sets)
        union
        select benchmark, condition from stg_study_boards
        union
        select 'medley', 'normal reference' where not exists (select 1 from stg_study_boards where benchmark = 'medley')
        union
        select 'metacogbench', 'free'
        union
        select 'selfknowledge', 'dual'
    ),
    conditions as (
        select benchmark, condition from answered
        union
        select benchmark, condition from first_condition where benchmark not in (select benchmark from answered)
    ),
    failures as (
        select benchmark, model, sum(n_failed)::bigint as n_failed from stg_study_partitions group by all
    )
select
    conditions.benchmark,
    conditions.condition,
    listed.model,
    listed.source,
    coalesce(failures.n_failed, 0) as n_failed
from int_listed_models as listed
cross join conditions
inner join int_benchmarks as asked using (benchmark)
left join failures on failures.benchmark = conditions.benchmark and failures.model = listed.model
where not exists (
    select 1 from int_estimates as scored
    where scored.benchmark = conditions.benchmark and scored.model = listed.model
        and scored.condition = conditions.condition and scored.measure = 'coverage'
)
order by conditions.benchmark, conditions.condition, listed.model
