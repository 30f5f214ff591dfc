-- One row: one partition: a benchmark, a listed model and a run, or a judge; how far it is, and why it is not
-- complete. Judges have the name their answers are kept under.
-- Key: benchmark, model, run.
-- Source: study/partitions.parquet.
-- #NOT_NULL(benchmark, model, run, state, role)
-- #SET{source: measured|simulated}
-- #SET{role: respondent|judge}
-- columns:
--   role: respondent (measured) or judge (of responses)
--   state: complete, incomplete, missing or failed
--   n_unusable: answered items that give nothing to read: empty, refused by a filter, or cut before the answer
--   answered_share: n_answered / n_expected, 0 to 1
--   message: why it is not complete, or what to know about it, such as another model id than the one asked
--   source: of the listed model
with whole as (
    select partition.*, if(suffix(benchmark, '_judgements'), 'judge', 'respondent') as role, listed.source
    from stg_partitions as partition
    inner join listed using (model)
)
select
    benchmark,
    model,
    run,
    role,
    state,
    n_expected,
    n_answered,
    n_failed,
    n_unusable,
    n_answered / nullif(n_expected, 0) as answered_share,
    message,
    updated_at,
    source
from whole
order by benchmark, model, run
