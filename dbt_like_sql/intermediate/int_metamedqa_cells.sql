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
select
    seen.dataset,
    seen.condition,
    seen.model,
    seen.run,
    listed.source,
    seen.kind,
    seen.target,
    seen.answer,
    seen.confidence,
    seen.status,
    count(*) as n,
    sum(seen.correct)::bigint as n_correct
from stg_metamedqa_observations as seen
inner join int_listed_models as listed on listed.model = seen.model and seen.run <= listed.runs
where seen.dataset in (select dataset from int_metamedqa_question_sets)
group by all
order by all
