-- One row: one tier of one listed model under one setting of one threshold; what was read is not read again.
-- Key: dataset, condition, model, tier, threshold, setting.
-- Source: estimates/metacogbench/sensitivity.
-- Reads: stg_metacogbench_sensitivity = estimates/metacogbench/sensitivity/*.parquet (
--   benchmark varchar, dataset varchar, condition varchar, model varchar, tier varchar, threshold varchar,
--   setting varchar, is_default boolean, estimate double, default_estimate double, chance double, tau double, n bigint,
--   source varchar)
-- #NOT_NULL(dataset, condition, model, tier, threshold, setting, is_default)
-- #SET{tier: 1a|1b|2a|2b|3}
-- columns:
--   tier: 1a betting, 1b prediction, 2a caution, 2b resistance, 3 transfer
--   setting: value of the threshold
--   threshold: what is varied: low bet, sure bet (tokens), bins (of the calibration error), keywords, pushback, fields
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
inner join listed using (model)
semi join asked on asked.benchmark = grid.benchmark and asked.dataset = grid.dataset
order by benchmark, dataset, condition, tier, threshold, setting, model
