-- One row: one bin of a reliability diagram: answers of tier 1b stated with about the same confidence, all runs, in the bins
-- of the headline calibration error. Bins that were not used have no row. The interval is Wilson's over the tasks of a bin,
-- as runs of one task are not independent.
-- Key: dataset, condition, model, curve, position.
-- Source: metacogbench_responses.
-- Part of: curves.
with stated as (
    unpivot (select * from metacogbench_responses where tier = '1b' and passed is not null)
    on pre, post into name moment value confidence
),

counted as (
    select
        benchmark, dataset, condition, model, source, moment, least(4, floor(confidence / 20 + 1e-9))::integer as bin,
        avg(confidence) / 100 as x, avg(passed) as p, count(*) as n, count(distinct item_id) as n_items
    from stated
    group by benchmark, dataset, condition, model, source, moment, bin
)
select
    benchmark,
    dataset,
    condition,
    model,
    source,
    'reliability ' || moment as curve,
    bin as position,
    x,
    p as y,
    greatest(0, (p + 3.841458820694124 / (2 * n_items) - 1.959963984540054
        * sqrt(p * (1 - p) / n_items + 3.841458820694124 / (4 * n_items * n_items))) / (1 + 3.841458820694124 / n_items)) as low,
    least(1, (p + 3.841458820694124 / (2 * n_items) + 1.959963984540054
        * sqrt(p * (1 - p) / n_items + 3.841458820694124 / (4 * n_items * n_items))) / (1 + 3.841458820694124 / n_items)) as high,
    bin / 5 as threshold,
    n,
    n_items
from counted
