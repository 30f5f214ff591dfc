-- One row: one answer that could be read: the rating of 1 to 5 as a share, one letter of six.
-- Key: dataset, condition, model, run, item_id.
-- Source: stg_metamedqa_responses.
-- Part of: harmonised.
select
    benchmark, dataset, condition, model, run, item_id, item_id as cluster, correct::double as correct,
    (confidence - 1) / 4 as confidence, 6 as n_alternatives, answer as response
from stg_metamedqa_responses
where status = 'ok'
