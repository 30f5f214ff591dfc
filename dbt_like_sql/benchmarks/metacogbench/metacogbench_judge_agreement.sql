-- One row: one measure of how far one judge agrees with one rule of the scorer on the same replies. Judgements never enter a
-- score. judge_rate, rules_rate: shares passed; difference: how far the tier would move; kappa: Cohen's.
-- Key: dataset, source, condition, judge, relation, model, measure, dimension, b.
-- Source: estimates/metacogbench/judges.
-- Reads: stg_metacogbench_judges = estimates/metacogbench/judges/*.parquet (
--   benchmark varchar, dataset varchar, source varchar, tier varchar, condition varchar, judge varchar, relation varchar,
--   model varchar, rule varchar, measure varchar, estimate double, low double, high double, n bigint, n_items bigint,
--   n_unread bigint, n_missing bigint, status varchar)
-- Part of: judge_agreement.
select
    benchmark, dataset, source, condition, judge, relation, model, measure, tier as dimension, judge as a, rule as b,
    estimate, low, high, n, status,
    json_object('n_items', n_items, 'n_unread', n_unread, 'n_missing', n_missing)::varchar as facts
from stg_metacogbench_judges
