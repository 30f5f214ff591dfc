-- One row: one paired test of two models on a measure that boards show: model_a minus model_b on the items both answered.
-- Tests of conditions and of other measures are in comparisons.
-- Key: benchmark, dataset, condition, family, measure, model_a, model_b, note.
-- Source: comparisons, measures.
-- #NOT_NULL(benchmark, model_a, model_b, measure, family, separated)
-- columns:
--   model_a: the model whose value counts upwards in the difference
--   model_b: the model that it is compared with
--   note: what was left out, counts of the test
--   question: which question of the verdict it answers; null for exploratory tests
--   difference: the value of model_a minus that of model_b
--   difference_low: lower end of its interval at the level of the family of tests
--   difference_high: upper end
--   p: corrected over its family
--   separated: whether the test finds a difference
--   n_shared: items both answered
--   test_status: ok, or why there is no test
with models_of as (select distinct benchmark, model from leaderboard)
select
    test.benchmark,
    test.dataset,
    concat_ws(' ', test.task, test.condition) as condition,
    test.a as model_a,
    test.b as model_b,
    test.measure,
    test.question,
    test.value as difference,
    test.low_adjusted as difference_low,
    test.high_adjusted as difference_high,
    test.p_adjusted as p,
    coalesce(test.verdict = 'significant', false) as separated,
    test.n as n_shared,
    test.status as test_status,
    test.family,
    test.note
from comparisons as test
inner join models_of as one on one.benchmark = test.benchmark and one.model = test.a
inner join models_of as other on other.benchmark = test.benchmark and other.model = test.b
inner join measures as said on said.benchmark = test.benchmark and said.measure = test.measure and not said.detail
where test.model is null and test.condition is not null
order by test.question nulls last, test.benchmark, condition, test.measure, model_a, model_b
