-- One row: one confidence of one listed model under one condition: how often it was stated and how often it was right.
-- Reliability diagrams and type-2 ROC curves are drawn from this.
-- Key: benchmark, dataset, condition, model, percent.
-- Source: stg_across_use, int_listed_models, int_benchmarks.
-- #UNIQUE(benchmark, dataset, condition, model, percent)
-- #NOT_NULL(benchmark, condition, model, percent, n, n_correct, source)
-- #SET{source: measured|simulated}
-- columns:
--   percent: stated confidence, 0 to 100
--   n: answers with this confidence
--   n_correct: of these the correct ones
select
    own.benchmark,
    own.dataset,
    own.condition,
    own.model,
    own.percent,
    own.n,
    own.n_correct,
    own.source
from stg_across_use as own
inner join int_listed_models using (model)
inner join int_benchmarks using (benchmark)
order by own.benchmark, own.condition, own.model, own.percent
