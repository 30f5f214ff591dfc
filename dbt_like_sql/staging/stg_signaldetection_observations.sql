-- One row: one reading of one item's answer, by model, run and condition.
-- Key: condition, model, run, item_id.
-- Source: observations/signaldetection.
-- materialized: view
-- columns:
--   condition: confidence (decision and confidence), or what is punished: risk_none, risk_s1 (saying 0 wrongly), risk_s2
--   stimulus: the true label, 0 or 1
--   response: the label answered, null when there is none
--   confidence: 1 (a guess) upwards, null when there is none or none was asked for
--   correct: 1 when response is stimulus
--   status: ok, or why there is no full reading
--   latency_s: seconds from first send to last byte
select
    benchmark,
    dataset,
    task,
    condition,
    model,
    run,
    item_id,
    position,
    stimulus,
    response,
    confidence,
    correct,
    status,
    reason,
    latency_s,
    cost_usd,
    input_tokens,
    output_tokens,
    mode,
    coalesce(answer_ids[1], answer_id) as answer_id,
    source
from read_parquet('observations/signaldetection/**/*.parquet', hive_partitioning = false, union_by_name = true)
