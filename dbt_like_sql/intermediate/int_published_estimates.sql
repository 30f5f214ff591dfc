-- One row: one published number that may stand beside the answers of the study, in the units of the board. Published
-- numbers stand only beside answers to the published questions, and not beside simulated observers alone.
-- Key: benchmark, condition, model, measure.
-- Source: published_metamedqa, published_signaldetection, published_medley, published_metacogbench, published_selfknowledge,
-- medley_estimates,
-- int_benchmarks, int_question_sets, int_selfknowledge_question_sets, int_listed_models.
-- #UNIQUE(benchmark, condition, model, measure)
-- #NOT_NULL(benchmark, condition, model, measure)
-- columns:
--   n: answers the value rests on, null where the paper does not say
with
    medley_variants as (
        select distinct variant from medley_estimates
        union
        select 'reference' where not exists (select 1 from medley_estimates)
    ),
    shown as (
        select benchmark
        from int_benchmarks
        -- Self-knowledge names its published sets one by one; they are matched below.
        where benchmark not in (
            select benchmark from int_question_sets where dataset <> 'published' and benchmark <> 'selfknowledge'
        )
            and not exists (select 1 from int_listed_models having count(*) = count_if(source = 'simulated') and count(*) > 0)
    ),
    stated as (
        select
            'metamedqa' as benchmark,
            condition,
            model,
            measure,
            value as estimate,
            if(unit = 'percent' and low < 0, 0, low) as low,
            if(unit = 'percent' and high > 1, 1, high) as high,
            n
        from published_metamedqa
        -- The same figure may stand in a table and in the text: the one with an interval is the fuller.
        qualify row_number() over (partition by condition, model, measure order by low is null, n is null, place) = 1
        union all
        select 'signaldetection', task || ' ' || condition, model, measure, value, low, high, n
        from published_signaldetection
        union all
        -- By which of the two ways printed scores were made is not known; they stand beside the one the study uses.
        select 'medley', condition || ' ' || variant, model, measure, value, null, null, n
        from published_medley
        cross join medley_variants
        union all
        -- The first set has no place beside the scaled one: a model has one row.
        select 'metacogbench', condition, model, measure, value, null, null, n
        from published_metacogbench
        where dataset = 'metacog147'
        union all
        select 'selfknowledge', condition, model, measure, value, null, null, n
        from published_selfknowledge
        inner join int_selfknowledge_question_sets using (dataset)
    )
select stated.*
from stated
inner join shown using (benchmark)
order by benchmark, condition, model, measure
