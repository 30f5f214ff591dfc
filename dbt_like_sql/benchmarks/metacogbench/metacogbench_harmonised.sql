-- One row: one prediction of tier 1b: the percentage stated before answering.
-- Key: dataset, condition, model, run, item_id.
-- Source: stg_metacogbench_responses.
-- Part of: harmonised.
select
    benchmark, dataset, '1b ' || condition as condition, model, run, item_id, item_id as cluster, passed::double as correct,
    pre / 100 as confidence, null::integer as n_alternatives, answer as response
from stg_metacogbench_responses
where tier = '1b'
