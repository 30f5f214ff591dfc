-- One row: one benchmark the study asks now. Before any study is written down, all of them count.
-- Key: benchmark.
-- Source: stg_study_partitions.
-- #UNIQUE(benchmark)
-- #NOT_NULL(benchmark)
with
    -- Judgements of a benchmark's answers have partitions of their own, and no board.
    asked as (select distinct benchmark from stg_study_partitions where not suffix(benchmark, '_judgements')),
    known as (select unnest(['metamedqa', 'signaldetection', 'medley', 'metacogbench', 'selfknowledge']) as benchmark)
select benchmark from asked
union
select benchmark from known where not exists (select 1 from asked)
order by benchmark
