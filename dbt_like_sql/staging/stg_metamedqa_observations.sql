-- One row: one reading of one item's answer, by model, run and condition.
-- Key: condition, model, run, item_id.
-- Source: observations/metamedqa.
-- materialized: view
-- columns:
--   answer: the letter read, null when there is none
--   confidence: 1 (not at all) to 5 (absolutely sure), null when there is none
--   correct: 1 right, 0 wrong or no letter
--   status: ok, or why there is no full reading
--   off_menu_mass: probability outside the admissible letters, 0 to 1
--   latency_s: seconds from first send to last byte
select
    benchmark,
    dataset,
    condition,
    model,
    run,
    item_id,
    position,
    kind,
    target,
    answer,
    confidence,
    correct,
    status,
    reason,
    choice_probs,
    confidence_probs,
    off_menu_mass,
    latency_s,
    cost_usd,
    input_tokens,
    output_tokens,
    mode,
    answer_id,
    source,
    tags,
    meta_info,
    source_target
from read_parquet('observations/metamedqa/**/*.parquet', hive_partitioning = false, union_by_name = true)
