-- One row: one test on the questions the study asks now: between models, between languages of a model, or between asking
-- twice and asking once. Simulated observers are never compared with models.
-- Key: dataset, source, condition, model, family, measure, a, b.
-- Source: stg_selfknowledge_comparisons, int_selfknowledge_question_sets.
-- #UNIQUE(dataset, source, condition, model, family, measure, a, b)
-- #NOT_NULL(dataset, source, family, measure, a, b)
-- #SET{source: measured|simulated}
-- columns:
--   family: models_paired (on the items both answered), languages_paired (two languages of one model), dual_idk (two
--     questions minus one with leave to abstain), mcnemar (accuracy in these pairs, exact)
--   condition: held fixed, null where conditions are compared
--   model: held fixed, null where models are compared
--   difference: a - b, items resampled with all their runs, alike on both sides
--   statistic: difference / se
--   p_adjusted: Holm, over the pairs of a measure
--   verdict: significant or not_significant at 0.05 after Holm
--   n: items
--   status: ok, or why there is no number
select findings.*
from stg_selfknowledge_comparisons as findings
inner join int_selfknowledge_question_sets as asked using (dataset)
order by all
