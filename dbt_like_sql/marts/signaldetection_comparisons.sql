-- One row: one test on the data sets and tasks the study asks now: between models, tasks or conditions, or of the M-ratio
-- with 1. Simulated observers are never compared with models.
-- Key: dataset, source, task, condition, model, family, measure, a, b, note.
-- Source: stg_signaldetection_comparisons, int_signaldetection_question_sets.
-- #UNIQUE(dataset, source, task, condition, model, family, measure, a, b, note)
-- #NOT_NULL(dataset, source, family, measure)
-- #SET{source: measured|simulated}
-- #SET{verdict: not_significant|significant|negligible|inconclusive}
-- columns:
--   task: held fixed, null where tasks are compared
--   condition: held fixed, null where conditions are compared
--   model: held fixed, null where models are compared
--   family: which test; bayes_* compare posteriors; criterion_z is the paper's Z test, criterion_paired the same with the
--     items as the unit of chance, criterion_order whether c rises through all three conditions
--   a: first of the pair
--   b: second of the pair
--   difference: a - b
--   se: its standard error
--   low: lower end of the 95 % interval of the difference
--   high: upper end
--   low_adjusted: lower end of the interval at the level of the whole family of tests
--   high_adjusted: upper end
--   p_adjusted: over the family
--   verdict: not_significant; significant (and outside the region of no practical importance); negligible (inside it);
--     inconclusive (across its edge)
--   n: trials or items the test rests on
--   status: ok, or why there is no number
select tests.*
from stg_signaldetection_comparisons as tests
where tests.dataset in (select dataset from int_signaldetection_question_sets)
    and (tests.task is null or (tests.dataset, tests.task) in (select (dataset, task) from int_signaldetection_question_sets))
order by all
