-- One row: one listed model with the headline of every benchmark the study asks: MetaMedQA accuracy, signal detection
-- M-ratio, MEDLEY MMS, MetaCog-Bench overall, self-knowledge d' of type 2. Which condition: int_headlines.
-- Key: model.
-- Source: int_listed_models, int_headlines, int_estimates, int_published_estimates, cost.
-- #UNIQUE(model)
-- #NOT_NULL(model, source)
-- #SET{source: measured|simulated}
-- columns:
--   metamedqa: the headline's estimate, null where there is none; beside it the ends of its 95 % interval, n, coverage
--   metamedqa_percentile: share of the other models below it, 0 to 100, ties half; of measured and published models for a
--     measured one, of simulated observers for one of them; null where there is no other
--   cost_usd: dollars paid for all its answers
with
    headline as (
        select est.benchmark, est.model, est.source, est.estimate, est.low, est.high, est.n, est.coverage
        from int_estimates as est
        inner join int_headlines using (benchmark, condition, measure)
    ),
    everybody as (
        select benchmark, model, source = 'simulated' as simulated, estimate
        from headline
        where estimate is not null
        union all
        select benchmark, model, false, estimate
        from int_published_estimates
        inner join int_headlines using (benchmark, condition, measure)
        where estimate is not null
    ),
    placed as (
        select
            own.benchmark,
            own.model,
            100.0 * avg((other.estimate < own.estimate)::int + 0.5 * (other.estimate = own.estimate)::int) as percentile
        from headline as own
        inner join everybody as other
            on other.benchmark = own.benchmark
            and other.simulated = (own.source = 'simulated')
            and other.model <> own.model
        where own.estimate is not null
        group by own.benchmark, own.model
    ),
    paid as (select model, sum(cost_usd) as cost_usd from cost group by model)
select
    listed.model,
    listed.source,
    any_value(estimate) filter (benchmark = 'metamedqa') as metamedqa,
    any_value(low) filter (benchmark = 'metamedqa') as metamedqa_low,
    any_value(high) filter (benchmark = 'metamedqa') as metamedqa_high,
    any_value(n) filter (benchmark = 'metamedqa') as metamedqa_n,
    any_value(coverage) filter (benchmark = 'metamedqa') as metamedqa_coverage,
    any_value(percentile) filter (benchmark = 'metamedqa') as metamedqa_percentile,
    any_value(estimate) filter (benchmark = 'signaldetection') as signaldetection,
    any_value(low) filter (benchmark = 'signaldetection') as signaldetection_low,
    any_value(high) filter (benchmark = 'signaldetection') as signaldetection_high,
    any_value(n) filter (benchmark = 'signaldetection') as signaldetection_n,
    any_value(coverage) filter (benchmark = 'signaldetection') as signaldetection_coverage,
    any_value(percentile) filter (benchmark = 'signaldetection') as signaldetection_percentile,
    any_value(estimate) filter (benchmark = 'medley') as medley,
    any_value(low) filter (benchmark = 'medley') as medley_low,
    any_value(high) filter (benchmark = 'medley') as medley_high,
    any_value(n) filter (benchmark = 'medley') as medley_n,
    any_value(coverage) filter (benchmark = 'medley') as medley_coverage,
    any_value(percentile) filter (benchmark = 'medley') as medley_percentile,
    any_value(estimate) filter (benchmark = 'metacogbench') as metacogbench,
    any_value(low) filter (benchmark = 'metacogbench') as metacogbench_low,
    any_value(high) filter (benchmark = 'metacogbench') as metacogbench_high,
    any_value(n) filter (benchmark = 'metacogbench') as metacogbench_n,
    any_value(coverage) filter (benchmark = 'metacogbench') as metacogbench_coverage,
    any_value(percentile) filter (benchmark = 'metacogbench') as metacogbench_percentile,
    any_value(estimate) filter (benchmark = 'selfknowledge') as selfknowledge,
    any_value(low) filter (benchmark = 'selfknowledge') as selfknowledge_low,
    any_value(high) filter (benchmark = 'selfknowledge') as selfknowledge_high,
    any_value(n) filter (benchmark = 'selfknowledge') as selfknowledge_n,
    any_value(coverage) filter (benchmark = 'selfknowledge') as selfknowledge_coverage,
    any_value(percentile) filter (benchmark = 'selfknowledge') as selfknowledge_percentile,
    any_value(paid.cost_usd) as cost_usd
from int_listed_models as listed
left join headline using (model)
left join placed using (benchmark, model)
left join paid using (model)
group by listed.model, listed.source
order by listed.source, listed.model
