-- One row: how far one judge agrees with one rule on one tier, of one model or of all.
-- Key: dataset, source, tier, condition, judge, relation, model, rule.
-- Source: estimates/metacogbench/judges.
-- materialized: view
select
    benchmark,
    dataset,
    source,
    tier,
    condition,
    judge,
    relation,
    model,
    rule,
    judge_rate,
    rules_rate,
    difference,
    difference_low,
    difference_high,
    accuracy,
    accuracy_low,
    accuracy_high,
    kappa,
    kappa_low,
    kappa_high,
    n,
    n_items,
    n_judge_only,
    n_rules_only,
    n_unread,
    n_missing,
    status
from read_parquet('estimates/metacogbench/judges/*.parquet', hive_partitioning = false, union_by_name = true)
