-- One row: one measure of how far judges agree, with each other or with the rules, in one dimension.
-- Key: benchmark, dataset, source, condition, judge, relation, model, reading, measure, dimension, a, b.
-- Source: agreement tables of the benchmarks.
-- #NOT_NULL(benchmark, dataset, source, measure, dimension)
-- columns:
--   judge: whose verdicts; null where all judges are taken together
--   model: whose responses, null for those of all models
--   reading: strict (a grade outside the offered set is none) or reference (it counts as 1)
--   measure: an agreement (alpha, kappa, accuracy: at most 1, 0 as by chance), or a rate
--     of fixed answers: what it adds to a grade of 0 to 1
--   dimension: what is graded, or all
--   a: one side: a judge
--   b: the other: a judge, or a rule
--   n: responses with verdicts of both sides
--   facts: its counts, as JSON
select found.*
from stg_judge_agreement as found
semi join asked on asked.benchmark = found.benchmark and asked.dataset = found.dataset
order by all
