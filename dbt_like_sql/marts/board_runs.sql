-- One row: one measure of one listed model, condition and run.
-- Key: benchmark, dataset, condition, model, run, measure.
-- Source: int_listed_models, int_metamedqa_question_sets, int_signaldetection_question_sets, int_medley_question_sets,
-- int_metacogbench_question_sets, int_selfknowledge_question_sets, stg_metacogbench_run_estimates,
-- stg_selfknowledge_run_estimates, stg_metamedqa_run_estimates, stg_signaldetection_run_estimates, stg_medley_run_estimates.
-- #UNIQUE(benchmark, dataset, condition, model, run, measure)
-- #NOT_NULL(benchmark, dataset, condition, model, run, measure)
-- #SET{source: measured|simulated}
-- columns:
--   condition: as on the board; for signaldetection the task and the condition, for medley the condition and how
--     it was scored
--   estimate: shares 0 to 1, confidences 1 to 5, d′ and criteria in standard deviations; null when there is no value,
--     status says why
--   low: lower end of the 95 % interval
--   high: upper end of the 95 % interval
--   sem: standard error; of a share with n - 1, as the MetaMedQA paper states it
--   n: answers the value rests on
--   n_failed: items without an answer
--   n_unparsable: items whose answer holds no readable choice or no confidence
--   coverage: valid answers / items, 0 to 1
--   source: measured or simulated
with estimates as (
    select
        benchmark, dataset, condition, model, run, measure, estimate, low, high, sem, n, n_failed, n_unparsable, coverage,
        method, status
    from stg_metamedqa_run_estimates
    inner join int_metamedqa_question_sets using (dataset)
    union all
    select
        benchmark, dataset, task || ' ' || condition, model, run, measure, estimate, low, high, sem, n, n_failed,
        n_unparsable, coverage, method, status
    from stg_signaldetection_run_estimates
    inner join int_signaldetection_question_sets using (dataset, task)
    union all
    select
        benchmark, dataset, condition || ' ' || variant, model, run, measure, estimate, low, high, sem, n, n_failed,
        n_unparsable, coverage, method, status
    from stg_medley_run_estimates
    inner join int_medley_question_sets using (dataset)
    union all
    select
        benchmark, dataset, condition, model, run, measure, estimate, low, high, sem, n, n_failed, n_unparsable, coverage,
        method, status
    from stg_metacogbench_run_estimates
    inner join int_metacogbench_question_sets using (dataset)
    union all
    select
        benchmark, dataset, condition, model, run, measure, estimate, low, high, sem, n, n_failed, n_unparsable, coverage,
        method, status
    from stg_selfknowledge_run_estimates
    inner join int_selfknowledge_question_sets using (dataset)
)

select
    estimates.*,
    listed.source
from estimates
inner join int_listed_models as listed on listed.model = estimates.model and estimates.run <= listed.runs
order by benchmark, dataset, condition, model, run, measure
