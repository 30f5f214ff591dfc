-- One row: what one model said to one question under one condition in one run.
-- Key: dataset, condition, model, run, item_id.
-- Source: observations/selfknowledge.
-- materialized: view
-- columns:
--   correct: 1 or 0 by the study's matching rule, null without an answer
--   yes: 1 or 0 by the study's rule, null where the meta reply says neither
--   abstained: 1 or 0, under idk only
--   confidence: P(yes) / (P(yes) + P(no)) of the meta reply, 0 to 1; null where no log-probabilities were kept
--   status: ok, or why there is no full reading
select
    benchmark,
    dataset,
    split,
    condition,
    language,
    model,
    run,
    item_id,
    position,
    answerable,
    output,
    meta_output,
    correct,
    correct_strict,
    yes,
    yes_strict,
    yes_reference,
    abstained,
    confidence,
    status,
    reason,
    matching,
    yes_no,
    answer_id,
    answer_id_meta,
    source
from read_parquet('observations/selfknowledge/**/*.parquet', hive_partitioning = false, union_by_name = true)
