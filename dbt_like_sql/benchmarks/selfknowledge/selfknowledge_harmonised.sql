-- One row: one question asked twice: the share of P(yes), where it was kept.
-- Key: dataset, condition, model, run, item_id.
-- Source: stg_selfknowledge_responses.
-- Part of: harmonised.
select
    benchmark, dataset, condition, model, run, item_id, coalesce(event_id, question_id, item_id) as cluster,
    correct::double as correct, confidence, null::integer as n_alternatives, output as response
from stg_selfknowledge_responses
where starts_with(condition, 'dual')
