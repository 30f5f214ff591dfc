-- One row: one partition: a benchmark, a listed model and a run, or a judge or helper; how far it is, and why it is not
-- complete. Judges and helpers have the name their answers are kept under.
-- Key: benchmark, model, run.
-- Source: study/partitions.parquet, study/helpers.parquet.
-- #NOT_NULL(benchmark, model, run, state, role)
-- #SET{source: measured|simulated}
-- #SET{role: respondent|judge|helper}
-- columns:
--   role: respondent (measured), judge (of responses) or helper (makes items)
--   state: complete, incomplete, missing or failed
--   n_unusable: answered items that give nothing to read: empty, refused by a filter, or cut before the answer
--   answered_share: n_answered / n_expected, 0 to 1
--   message: why it is not complete, or what to know about it, such as another model id than the one asked
--   source: of the listed model; null for one that only helps
with whole as (
    select partition.*, if(suffix(benchmark, '_judgements'), 'judge', 'respondent') as role, listed.source
    from stg_partitions as partition
    inner join listed using (model)
    union all by name
    select *, 'helper' as role from stg_helpers
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
