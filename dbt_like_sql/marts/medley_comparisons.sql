-- One row: one finding on the data sets the study asks now: between models, domains, ways to average, or conditions.
-- Simulated observers are never compared with models.
-- Key: dataset, source, variant, condition, model, family, measure, a, b.
-- Source: stg_medley_comparisons, int_medley_question_sets.
-- #UNIQUE(dataset, source, variant, condition, model, family, measure, a, b)
-- #NOT_NULL(dataset, source, variant, family, measure)
-- #SET{source: measured|simulated}
-- columns:
--   family: models_paired (value: MMS of a minus MMS of b, p by Holm), rank (value: rank of model, with the central 95 % of
--     its ranks over resampled instances), cross_domain (ρ of MMS in two domains over models), leave_one_domain_out (ρ of
--     the ranking without a), aggregation (ρ of the rankings by two ways to average), pca (share of the variance of the
--     judged dimensions), predictor (ρ of a judged dimension with adversarial Δ, p by Bonferroni over ten, low and high
--     when one model is left out), analyst_overlap (rank-biserial r of MMS where an analyst of the model's family is shown
--     against where none is, p by Mann and Whitney and Holm), cognitive_map (adversarial Δ; statistic: stripped Δ), character (verdict: what the
--     model behaves like)
--   condition: held fixed, null where conditions are compared
--   model: held fixed, null where models are compared
--   statistic: z, or the largest shift of a rank, or stripped Δ, or U
--   verdict: significant, not_significant; a profile; a character
--   n: instances or models it rests on
--   status: ok, or why there is no number
select findings.*
from stg_medley_comparisons as findings
inner join int_medley_question_sets as asked using (dataset)
order by all
