-- One row: one confidence level of one model: how often it was right there. Runs are pooled; the interval is Wilson's and
-- treats answers as independent. Levels that were not used have no row.
-- Key: dataset, condition, model, position.
-- Source: metamedqa_responses.
-- Part of: curves.
with counted as (
    select
        benchmark, dataset, condition, model, source, confidence, count(*) as n,
        sum(correct)::bigint / count(*) as p
    from metamedqa_responses
    where answer is not null and confidence is not null
    group by benchmark, dataset, condition, model, source, confidence
)
select
    benchmark,
    dataset,
    condition,
    model,
    source,
    'reliability' as curve,
    confidence::integer as position,
    (confidence - 1) / 4 as x,
    p as y,
    greatest(0, (p + 3.841458820694124 / (2 * n) - 1.959963984540054
        * sqrt(p * (1 - p) / n + 3.841458820694124 / (4 * n * n))) / (1 + 3.841458820694124 / n)) as low,
    least(1, (p + 3.841458820694124 / (2 * n) + 1.959963984540054
        * sqrt(p * (1 - p) / n + 3.841458820694124 / (4 * n * n))) / (1 + 3.841458820694124 / n)) as high,
    n
from counted
