-- One row: one judge's verdict on one reply, and that of the rules.
-- Key: dataset, condition, model, run, item_id, judge.
-- Source: judgements/metacogbench.
-- Reads: stg_metacogbench_judgements = judgements/metacogbench/**/*.parquet (
--   benchmark varchar, dataset varchar, tier varchar, condition varchar, model varchar, run integer, judge varchar,
--   judge_model varchar, relation varchar, item_id varchar, verdict tinyint, by_rules tinyint, status varchar,
--   reason varchar, mode varchar, answer_id varchar, cost_usd double, source varchar)
-- Part of: judgements.
select
    benchmark, dataset, condition, model, run, item_id, judge, judge_model, relation, tier as dimension,
    verdict::double as value, status, reason, answer_id, cost_usd, source, json_object('by_rules', by_rules)::varchar as facts
from stg_metacogbench_judgements
