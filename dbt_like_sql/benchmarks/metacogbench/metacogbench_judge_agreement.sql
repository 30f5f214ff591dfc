-- One row: one measure of how far one judge agrees with one rule of the scorer on the same replies. Judgements never enter a
-- score. judge_rate, rules_rate: shares passed; difference: how far the tier would move; kappa: Cohen's.
-- Key: dataset, source, condition, judge, relation, model, measure, dimension, b.
-- Source: estimates/metacogbench/judges.
-- Reads: stg_metacogbench_judges = estimates/metacogbench/judges/*.parquet (
--   benchmark varchar, dataset varchar, source varchar, tier varchar, condition varchar, judge varchar, relation varchar,
--   model varchar, rule varchar, judge_rate double, rules_rate double, difference double, difference_low double,
--   difference_high double, accuracy double, accuracy_low double, accuracy_high double, kappa double, kappa_low double,
--   kappa_high double, n bigint, n_items bigint, n_judge_only bigint, n_rules_only bigint, n_unread bigint,
--   n_missing bigint, status varchar)
-- Part of: judge_agreement.
with measured as (
    select
        *,
        unnest([
            {'measure': 'judge_rate', 'estimate': judge_rate, 'low': null, 'high': null},
            {'measure': 'rules_rate', 'estimate': rules_rate, 'low': null, 'high': null},
            {'measure': 'difference', 'estimate': difference, 'low': difference_low, 'high': difference_high},
            {'measure': 'accuracy', 'estimate': accuracy, 'low': accuracy_low, 'high': accuracy_high},
            {'measure': 'kappa', 'estimate': kappa, 'low': kappa_low, 'high': kappa_high}
        ]) as found
    from stg_metacogbench_judges
)
select
    benchmark, dataset, source, condition, judge, relation, model, found.measure as measure, tier as dimension, judge as a,
    rule as b, found.estimate as estimate, found.low as low, found.high as high, n, status,
    json_object(
        'n_items', n_items, 'n_judge_only', n_judge_only, 'n_rules_only', n_rules_only, 'n_unread', n_unread,
        'n_missing', n_missing
    )::varchar as facts
from measured
