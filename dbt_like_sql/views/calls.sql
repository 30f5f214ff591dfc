-- One row: one call to a model and how it ended; texts are in transcripts, by answer_id.
-- Key: none; the same call may be kept for two readers, and one that failed or was unusable may be repeated under its answer_id.
-- Source: transcripts, the readable copy of the journals.
-- columns:
--   status: ok, refused, truncated or failed
--   finish_detail: more than finish_reason says, where the provider does
--   reasoning_tokens: of output_tokens, those thought before the answer; null where the provider does not say
--   cached_tokens: of input_tokens, those read from the provider's prompt cache
--   cache_write_tokens: of input_tokens, those written to that cache
--   cost_usd: dollars of every attempt, null when the model has no price
--   input_usd: dollars of fresh input, at the price the call was made with; null where price or tokens are not known
--   cached_usd: dollars of input read from the prompt cache
--   cache_write_usd: dollars of input written to the prompt cache
--   output_usd: dollars of the answer, without the thinking
--   reasoning_usd: dollars of the thinking
--   lane: online or batch; null in answers of the first version
--   service_tier: class of service the provider says it used
--   response_id: the provider's own name of the reply
--   system_fingerprint: what the provider says of the system that answered
--   attempts: times the call was sent
--   attempts_billed: of these, those that were billed or may have been; null in answers of the first version
--   latency_s: seconds from first send to last byte
--   latency_first_ms: milliseconds from the last send to the first byte, null where the reply came in one piece
--   latency_ms: milliseconds from first send to last byte
--   reask: 0 for a call asked once, n for the n-th time its unusable answer was asked again
--   superseded: answered a question that is no longer asked this way, or another answer to the same call counts
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
    finish_detail,
    input_tokens,
    output_tokens,
    reasoning_tokens,
    cached_tokens,
    cache_write_tokens,
    cost_usd,
    (input_tokens - cached - written) * prices['in'] * prices['factor'] / 1e6 as input_usd,
    cached * prices['cached_in'] * prices['factor'] / 1e6 as cached_usd,
    written * prices['cache_write'] * prices['factor'] / 1e6 as cache_write_usd,
    (output_tokens - thought) * prices['out'] * prices['factor'] / 1e6 as output_usd,
    thought * prices['reasoning'] * prices['factor'] / 1e6 as reasoning_usd,
    lane,
    service_tier,
    response_id,
    system_fingerprint,
    attempts,
    attempts_billed,
    started_at,
    latency_s,
    latency_first_ms,
    latency_ms,
    error_kind,
    error_code,
    coalesce(reask, 0) as reask,
    superseded,
    if(zero, md5(concat_ws(chr(31), item_id, condition, step, json_extract(request_json, '$.messages')::varchar)), null)
        as at_zero,
    if(zero, md5(text), null) as text_hash
from (
    select
        *,
        -- Parts count as far as their whole goes, as where the cost was made.
        least(greatest(coalesce(cached_tokens, 0), 0), input_tokens) as cached,
        least(greatest(coalesce(cache_write_tokens, 0), 0), input_tokens - cached) as written,
        least(greatest(coalesce(reasoning_tokens, 0), 0), output_tokens) as thought,
        if(
            input_tokens >= 0 and output_tokens >= 0 and json_valid(prices_json),
            try_cast(prices_json::json as map(varchar, double)),
            null
        ) as prices,
        coalesce(status = 'ok' and provider not in ('replay', 'simulated')
        and try_cast(json_extract(request_json, '$.sampling.temperature') as double) = 0, false) as zero
    from stg_calls
)
