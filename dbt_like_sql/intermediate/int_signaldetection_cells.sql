-- One row: the answers that share model, run, task, condition, label, response, confidence and status, counted: of the
-- models, runs and tasks the study asks now.
-- Key: dataset, task, condition, model, run, source, stimulus, response, confidence, status.
-- Source: stg_signaldetection_observations, int_listed_models, int_signaldetection_question_sets. Read once: marts add these
-- rows up.
-- #UNIQUE(dataset, task, condition, model, run, source, stimulus, response, confidence, status)
-- #NOT_NULL(dataset, task, condition, model, run, stimulus, status, n)
-- #SET{stimulus: 0|1}
-- #SET{response: 0|1}
-- #SET{source: measured|simulated}
-- #SET{status: ok|answer_unparsed|confidence_unparsed|refused|transport_error|too_long|not_run}
-- columns:
--   n: answers
--   n_correct: of them right
with counted as (
    -- Counted before anything is joined: a million answers are a few hundred rows then.
    select
        dataset,
        task,
        condition,
        model,
        run,
        stimulus,
        response,
        confidence,
        status,
        count(*) as n,
        coalesce(sum(correct), 0)::bigint as n_correct
    from stg_signaldetection_observations
    group by all
)

select
    counted.dataset,
    counted.task,
    counted.condition,
    counted.model,
    counted.run,
    listed.source,
    counted.stimulus,
    counted.response,
    counted.confidence,
    counted.status,
    counted.n,
    counted.n_correct
from counted
inner join int_listed_models as listed on listed.model = counted.model and counted.run <= listed.runs
inner join int_signaldetection_question_sets as asked using (dataset, task)
order by all
