-- One row: one finding on the tasks the study asks now: between models, between formats, or how sure a rank is. Simulated
-- observers are never compared with models.
-- Key: dataset, source, condition, model, family, measure, a, b, note.
-- Source: stg_metacogbench_comparisons, int_metacogbench_question_sets.
-- #UNIQUE(dataset, source, condition, model, family, measure, a, b, note)
-- #NOT_NULL(dataset, source, family, measure)
-- #SET{source: measured|simulated}
-- columns:
--   family: models_paired (a minus b on the same items, p by Holm), format (free minus a JSON format, same items and
--     scorer), mcnemar (the same in one run, exact), protocol (1b in two turns minus one), rank (rank of model, low and
--     high: the central 95 % of its ranks over resampled items), saturated (a tier every model passes),
--     judge (score of a tier by judge a minus score by the headline rule, same replies; of 1b the share of right answers)
--   condition: held fixed, null where conditions are compared
--   model: held fixed, null where models are compared
--   value: a - b, a rank, or the least rate of a saturated tier
--   statistic: value / se
--   verdict: significant or not_significant after Holm; saturated
--   n: items, or models
--   status: ok, or why there is no number
select findings.*
from stg_metacogbench_comparisons as findings
inner join int_metacogbench_question_sets as asked using (dataset)
order by all
