-- One row: one answer given at temperature 0: a question, the day, and a digest of the answer's text.
-- Key: benchmark, model, question, run.
-- Source: transcripts, the readable copy of the journals.
-- materialized: view
-- columns:
--   question: digest of everything sent but run and seed
select
    benchmark,
    model,
    run,
    md5(concat_ws(chr(31), item_id, condition, step, json_extract(request_json, '$.messages')::varchar)) as question,
    md5(text) as text_hash,
    started_at,
    cast(started_at as date) as day
from read_parquet('transcripts/**/*.parquet', hive_partitioning = false, union_by_name = true)
where status = 'ok'
    and provider not in ('replay', 'simulated')
    and try_cast(json_extract(request_json, '$.sampling.temperature') as double) = 0
