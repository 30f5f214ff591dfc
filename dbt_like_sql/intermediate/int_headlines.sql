-- One row: the one condition and measure a benchmark is summed up by in a profile.
-- The condition without special words where it was asked, else the first in alphabetical order.
-- Key: benchmark.
-- Source: int_estimates.
-- #UNIQUE(benchmark)
-- #NOT_NULL(benchmark, condition, measure)
with
    named (benchmark, measure) as (
        values
            ('metamedqa', 'accuracy'),
            ('signaldetection', 'm_ratio'),
            ('medley', 'mms'),
            ('metacogbench', 'overall'),
            ('selfknowledge', 'd_type2')
    ),
    asked as (
        select distinct
            benchmark,
            condition,
            measure,
            condition in ('baseline', 'A confidence', 'normal reference', 'normal paper', 'free', 'dual') as plain
        from int_estimates
        inner join named using (benchmark, measure)
    )
select benchmark, condition, measure
from asked
qualify row_number() over (partition by benchmark order by plain desc, condition) = 1
order by benchmark
