-- One row: one measure of one model under one condition: every model the study lists, beside the published ones.
-- A listed model without a single answer is named by its coverage of 0. Published rows stand only beside answers to the
-- published questions, and not beside simulated observers alone.
-- Key: benchmark, condition, model, measure, source.
-- Source: int_estimates, int_unanswered_models, int_published_estimates.
-- #UNIQUE(benchmark, condition, model, measure, source)
-- #NOT_NULL(benchmark, condition, model, measure, source)
-- #SET{source: measured|published|simulated}
-- columns:
--   condition: metamedqa: the system message, baseline has none; signaldetection: the task and the condition;
--     medley: the condition and how it was scored; metacogbench: the format; selfknowledge: dual asks
--     twice, with the language where it is not English, idk once
--   estimate: shares and scores 0 to 1, confidences 1 to 5, d′ and criteria in standard deviations; null when there is no value
--   low: lower end of the 95 % interval, null when there is none
--   high: upper end of the 95 % interval
--   n: answers the value rests on, null where the paper does not say
--   n_failed: items without an answer, null for published rows
--   n_unparsable: items whose answer could not be read, null for published rows
--   coverage: valid answers / items, 0 to 1, null for published rows
--   source: measured (asked here or imported), published (stated in the paper), simulated (an observer with known parameters)
with
    unanswered as (
        select
            benchmark, condition, model, 'coverage' as measure, 0.0 as estimate, null as low, null as high, 0 as n,
            n_failed, 0 as n_unparsable, 0.0 as coverage, source
        from int_unanswered_models
    ),
    published as (
        select
            benchmark, condition, model, measure, estimate, low, high, n, null as n_failed, null as n_unparsable,
            null as coverage, 'published' as source
        from int_published_estimates
    )
select
    benchmark, condition, model, measure, estimate, low, high, n, n_failed, n_unparsable, coverage, source
from int_estimates
union all
select * from unanswered
union all
select * from published
order by benchmark, condition, source, model, measure
