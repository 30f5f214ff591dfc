-- One row: one decision with a confidence: ratings 1 to 5 as a share between a guess and certainty, one label of two.
-- Key: dataset, condition, model, run, item_id.
-- Source: stg_signaldetection_responses.
-- Part of: harmonised.
select
    benchmark, dataset, task || ' confidence' as condition, model, run, item_id, item_id as cluster,
    correct::double as correct, 0.5 + (confidence - 1) / (2 * 4) as confidence, 2 as n_alternatives,
    response::varchar as response
from stg_signaldetection_responses
where condition = 'confidence' and status = 'ok'
