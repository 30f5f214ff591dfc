-- One row: one test on the question set the study asks now: between models, between conditions, or of a recall with
-- accuracy. Simulated observers are never compared with models.
-- Key: dataset, source, condition, model, family, measure, a, b, note.
-- Source: stg_metamedqa_comparisons, int_metamedqa_question_sets.
-- #UNIQUE(dataset, source, condition, model, family, measure, a, b, note)
-- #NOT_NULL(dataset, source, family, measure)
-- #SET{source: measured|simulated}
-- columns:
--   condition: held fixed while models are compared, null otherwise
--   model: held fixed while conditions are compared, null otherwise
--   family: which test: anova, tukey, lsd, paired (item bootstrap), mcnemar, cochran or correlation, of models or conditions
--   a: first of the pair
--   b: second of the pair
--   difference: a - b; for a correlation the slope of b on a
--   low: lower end of its 95 % interval
--   high: upper end of its 95 % interval
--   statistic: F, q, t, chi squared, Q or r
--   p_adjusted: family-wise for Tukey, Holm's for other pairs
--   stars: * p < 0.05, ** < 0.01, *** < 0.001, **** < 0.0001
--   cohen_d: standardised difference
--   n: observations, items or models the test rests on
--   note: what was left out, counts behind the test
--   status: ok, or why there is no number
select tests.*
from stg_metamedqa_comparisons as tests
where tests.dataset in (select dataset from int_metamedqa_question_sets)
order by all
