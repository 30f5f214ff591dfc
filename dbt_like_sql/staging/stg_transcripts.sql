-- One row: one call to a model and how it ended, without the text of prompt and answer.
-- Key: none; a call that failed can be repeated under the same answer_id.
-- Source: transcripts, the readable copy of the journals.
-- materialized: view
-- columns:
--   status: ok, refused, truncated or failed
--   cost_usd: dollars of every attempt, null when the model has no price
--   latency_s: seconds from first send to last byte
--   superseded: answered a question that is no longer asked this way
select
    answer_id,
    benchmark,
    model,
    run,
    item_id,
    condition,
    step,
    source,
    provider,
    model_id,
    model_reported,
    mode,
    status,
    finish_reason,
    input_tokens,
    output_tokens,
    cost_usd,
    attempts,
    started_at,
    latency_s,
    error_kind,
    error_code,
    superseded
from read_parquet('transcripts/**/*.parquet', hive_partitioning = false, union_by_name = true)
