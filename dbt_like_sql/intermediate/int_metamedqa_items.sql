-- One row: one question under one condition, over the listed models: how hard it is and what it tempts them to.
-- Real models and simulated observers are counted apart. Reads every observation, so it is worked out when asked.
-- Key: dataset, condition, item_id, source.
-- Source: stg_metamedqa_observations, int_listed_models, int_metamedqa_question_sets.
-- materialized: view
-- columns:
--   n: answers asked for, over models and runs
--   n_models: models asked
--   accuracy: share answered as keyed; no letter counts as wrong
--   mean_confidence: 1 to 5, of the answers that state one
--   share_e: share that says none of the above
--   share_f: share that says it cannot be answered
select
    seen.dataset,
    seen.condition,
    seen.item_id,
    any_value(seen.position) as position,
    any_value(seen.kind) as kind,
    any_value(seen.target) as target,
    listed.source,
    count(*) as n,
    count(distinct seen.model) as n_models,
    avg(seen.correct) as accuracy,
    avg(seen.confidence) as mean_confidence,
    avg(if(seen.answer = 'E', 1, 0)) as share_e,
    avg(if(seen.answer = 'F', 1, 0)) as share_f
from stg_metamedqa_observations as seen
inner join int_listed_models as listed on listed.model = seen.model and seen.run <= listed.runs
where seen.dataset in (select dataset from int_metamedqa_question_sets)
group by seen.dataset, seen.condition, seen.item_id, listed.source
order by seen.dataset, seen.condition, position, seen.item_id, listed.source
