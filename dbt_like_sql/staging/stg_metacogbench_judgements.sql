-- One row: one judge's verdict on one reply.
-- Key: dataset, condition, model, run, item_id, judge.
-- Source: observations/metacogbench_judgements.
-- materialized: view
select
    benchmark,
    dataset,
    tier,
    condition,
    model,
    run,
    item_id,
    judge,
    judge_model,
    relation,
    verdict,
    by_rules,
    status,
    reason,
    answer_id,
    cost_usd,
    source
from read_parquet(
    'observations/metacogbench_judgements/**/*.parquet', hive_partitioning = false, union_by_name = true
)
