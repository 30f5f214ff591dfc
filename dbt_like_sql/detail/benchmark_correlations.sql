-- One row: one pair of measures over the models that have both: do they order the models alike? The multitrait-multimethod
-- table of Campbell & Fiske (1959), one pair a row.
-- Key: source, a, b.
-- Source: estimates/across/validity.
-- #NOT_NULL(source, a, b, kind, n_models, status, warning)
-- #SET{source: measured|simulated}
-- #SET{kind: convergent|discriminant|method}
-- #SET{trait_a: monitoring|control}
-- #SET{trait_b: monitoring|control}
-- columns:
--   a: benchmark and measure, turned so that more is better
--   kind: convergent (one trait, two benchmarks), discriminant (two traits, two benchmarks), method (one benchmark)
--   spearman: rank correlation over models, -1 to 1
--   low: lower end of its 95 % interval, models resampled
--   high: upper end
--   p: two-sided p of the rank correlation, exact up to 9 models
--   p_adjusted: Holm's p over the pairs of one source and kind
--   n_tests: size of that family
--   verdict: significant or not_significant by p_adjusted at 0.05; empty with fewer than 5 models
--   warning: what forbids to conclude from this row, empty where nothing does
select
    source,
    a,
    b,
    trait_a,
    trait_b,
    benchmark_a,
    benchmark_b,
    kind,
    n_models,
    spearman,
    low,
    high,
    p,
    p_adjusted,
    n_tests,
    verdict,
    status,
    case
        when n_models < 5 then 'too few models for any conclusion: ' || n_models
        when n_models < 10 then 'few models, the interval says little: ' || n_models
        when source = 'simulated' then 'simulated observers agree as far as they were told to'
        else ''
    end as warning
from stg_correlations
order by source, kind, a, b
