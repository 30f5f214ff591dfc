-- One row: one test of a against b on what the study asks now: between models, conditions, or with a fixed value. Simulated
-- observers are never compared with models. Rows of source published are made from published counts.
-- Key: benchmark, dataset, task, condition, scoring, model, source, family, measure, a, b, note.
-- Source: estimates/*/comparisons, estimates/*/published/contrasts.parquet.
-- #NOT_NULL(benchmark, dataset, source, family, measure, n_tests, primary)
-- #SET{source: measured|published|simulated}
-- columns:
--   task: held fixed, null where tasks are compared
--   condition: held fixed, null where conditions are compared
--   model: held fixed, null where models are compared
--   value: a - b, or what the family says: a rank, a correlation
--   n: observations, items or models it rests on
--   n_tests: size of its family, which p_adjusted is corrected for; of posteriors, which are not corrected, how many there
--     are; 0 where nothing is tested
--   primary: whether it is the one test that answers its question (docs/comparisons.md); other tests are secondary. A word of
--     SQL: write it in double quotes
--   question: which question of the verdict the primary test answers: knows, calibrated, unanswerable, judgement; else null
--   low_n: whether either side has too few answers for its own interval, or fewer than 30 items are shared; null without one
--   n_left_out: items asked and not answered by a model it names, where the test is about them; null of published tests
--   note: what was left out, counts of the test
select
    test.benchmark,
    test.dataset,
    test.task,
    test.condition,
    test.scoring,
    test.model,
    test.source,
    test.family,
    test.measure,
    test.a,
    test.b,
    test.value,
    test.se,
    test.low,
    test.high,
    test.low_adjusted,
    test.high_adjusted,
    test.statistic,
    test.df1,
    test.df2,
    test.p,
    test.p_adjusted,
    test.effect_size,
    test.verdict,
    coalesce(test.n_tests, 0) as n_tests,
    coalesce(test.primary, false) as "primary",
    test.question,
    test.n,
    test.note,
    test.status,
    test.low_n,
    test.n_left_out
from stg_comparisons as test
left join asked on asked.benchmark = test.benchmark and asked.dataset = test.dataset and asked.task = coalesce(test.task, '')
where asked.benchmark is not null or test.source = 'published'
