-- One row: the answers that share model, run, condition, kind, key, letter, confidence and status, counted: of the
-- models, runs and question set the study asks now.
-- Key: dataset, condition, model, run, source, kind, target, answer, confidence, status.
-- Source: stg_metamedqa_observations, int_listed_models, int_metamedqa_question_sets. Read once: marts add these rows up.
-- #UNIQUE(dataset, condition, model, run, source, kind, target, answer, confidence, status)
-- #NOT_NULL(dataset, condition, model, run, kind, target, status)
-- #SET{target: A|B|C|D|E|F}
-- #SET{answer: A|B|C|D|E|F}
-- #SET{source: measured|simulated}
-- #SET{confidence: 1|2|3|4|5}
-- #SET{status: ok|answer_unparsed|confidence_unparsed|refused|transport_error|too_long|not_run}
-- columns:
--   n: answers
--   n_correct: of them right
with counted as (
    -- Counted before anything is joined: a million answers are a few thousand rows then.
    select
        dataset,
        condition,
        model,
        run,
        kind,
        target,
        answer,
        confidence,
        status,
        count(*) as n,
        sum(correct)::bigint as n_correct
    from stg_metamedqa_observations
    group by all
)

select
    counted.dataset,
    counted.condition,
    counted.model,
    counted.run,
    listed.source,
    counted.kind,
    counted.target,
    counted.answer,
    counted.confidence,
    counted.status,
    counted.n,
    counted.n_correct
from counted
inner join int_listed_models as listed on listed.model = counted.model and counted.run <= listed.runs
where counted.dataset in (select dataset from int_metamedqa_question_sets)
order by all
