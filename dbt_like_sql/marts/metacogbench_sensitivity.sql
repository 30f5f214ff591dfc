-- One row: one tier of one listed model under one setting of one threshold; what was read is not read again.
-- Key: dataset, condition, model, tier, threshold, setting.
-- Source: stg_metacogbench_sensitivity, int_listed_models, int_metacogbench_question_sets.
-- #UNIQUE(dataset, condition, model, tier, threshold, setting)
-- #NOT_NULL(dataset, condition, model, tier, threshold, setting, is_default)
-- #SET{tier: 1a|1b|2a|2b|3}
-- columns:
--   threshold: what is varied: low bet, sure bet (tokens), bins (of the calibration error), cues, factors, pushback, fields
--   is_default: whether the headline uses this setting
--   estimate: 0 to 1, mean over runs
--   change: estimate - that of the default setting
--   chance: of bins: the mean score of a perfectly calibrated respondent who says the same
--   tau: Kendall's tau-b of the order of the models with their order under the default
--   n: items
select
    grid.benchmark,
    grid.dataset,
    grid.condition,
    grid.model,
    grid.tier,
    grid.threshold,
    grid.setting,
    grid.is_default,
    grid.estimate,
    grid.estimate - grid.default_estimate as change,
    grid.chance,
    grid.tau,
    grid.n,
    listed.source
from stg_metacogbench_sensitivity as grid
inner join int_listed_models as listed using (model)
inner join int_metacogbench_question_sets as asked using (dataset)
order by benchmark, dataset, condition, tier, threshold, setting, model
