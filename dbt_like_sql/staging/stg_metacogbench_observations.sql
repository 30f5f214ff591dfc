-- One row: one reading of one item's reply, by model, run and condition.
-- Key: dataset, condition, model, run, item_id.
-- Source: observations/metacogbench.
-- materialized: view
-- columns:
--   passed: 1 or 0 by the headline rule of its tier, null without a reply
--   passed_lit: by the rule as published
--   passed_grounded: by what the task itself omits (2a) or claims (2b)
--   bet: tokens; pre, post: percent
--   status: ok, or why there is no full reading
--   words: length of the scored reply
select
    benchmark,
    dataset,
    tier,
    family,
    level,
    domain,
    difficulty,
    structure,
    condition,
    model,
    run,
    item_id,
    position,
    passed,
    passed_lit,
    passed_grounded,
    correct,
    bet,
    pre,
    post,
    answer,
    n_cues,
    n_factors,
    n_ok,
    n_fields,
    words,
    status,
    reason,
    answer_id,
    source
from read_parquet('observations/metacogbench/**/*.parquet', hive_partitioning = false, union_by_name = true)
