-- One row: one call to a model and how it ended; texts are in transcripts.duckdb, by answer_id.
-- Key: none; the same call may be kept for two readers, and one that failed may be repeated under its answer_id.
-- Source: transcripts, the readable copy of the journals.
-- Grows: by file.
-- columns:
--   status: ok, refused, truncated or failed
--   cost_usd: dollars of every attempt, null when the model has no price
--   latency_s: seconds from first send to last byte
--   superseded: answered a question that is no longer asked this way
--   at_zero: digest of what was sent but run and seed, where it was sent at temperature 0 to a model and answered
--   text_hash: digest of that answer
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
    superseded,
    if(zero, md5(concat_ws(chr(31), item_id, condition, step, json_extract(request_json, '$.messages')::varchar)), null)
        as at_zero,
    if(zero, md5(text), null) as text_hash
from (
    select
        *,
        coalesce(status = 'ok' and provider not in ('replay', 'simulated')
        and try_cast(json_extract(request_json, '$.sampling.temperature') as double) = 0, false) as zero
    from stg_calls
)
