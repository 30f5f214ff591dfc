-- One row: one confidence level of one listed model and condition: how often it was given and how often it was right.
-- Runs are pooled; the interval treats answers as independent.
-- Key: dataset, condition, model, confidence.
-- Source: int_metamedqa_cells.
-- #UNIQUE(dataset, condition, model, confidence)
-- #NOT_NULL(dataset, condition, model, confidence, n)
-- #SET{source: measured|simulated}
-- columns:
--   confidence: 1 (not at all) to 5 (absolutely sure)
--   claimed: the confidence as a probability, (level - 1) / 4
--   n: answers with a letter and this confidence
--   share: n / answers with a letter and a confidence
--   accuracy: share of them right, null when the level was not used
--   low: lower end of the 95 % Wilson interval
--   high: upper end of the 95 % Wilson interval
--   gap: accuracy - claimed; below 0 is overconfident
with
    levels as (select unnest([1, 2, 3, 4, 5])::tinyint as confidence),
    rated as (
        select dataset, condition, model, source, confidence, sum(n) as n, sum(n_correct) as k
        from int_metamedqa_cells
        where answer is not null and confidence is not null
        group by all
    ),
    totals as (select dataset, condition, model, source, sum(n) as n_all from rated group by all),
    counted as (
        select
            totals.dataset, totals.condition, totals.model, totals.source, levels.confidence, totals.n_all,
            coalesce(rated.n, 0)::bigint as n, coalesce(rated.k, 0)::bigint as k, rated.k / rated.n as p
        from totals
        cross join levels
        left join rated using (dataset, condition, model, confidence)
    )
select
    dataset,
    condition,
    model,
    confidence,
    (confidence - 1) / 4 as claimed,
    n,
    k as n_correct,
    (n / n_all)::double as share,
    p as accuracy,
    if(n = 0, null, greatest(0, (p + 3.841458820694124 / (2 * n) - 1.959963984540054
        * sqrt(p * (1 - p) / n + 3.841458820694124 / (4 * n * n))) / (1 + 3.841458820694124 / n))) as low,
    if(n = 0, null, least(1, (p + 3.841458820694124 / (2 * n) + 1.959963984540054
        * sqrt(p * (1 - p) / n + 3.841458820694124 / (4 * n * n))) / (1 + 3.841458820694124 / n))) as high,
    p - (confidence - 1) / 4 as gap,
    source
from counted
order by dataset, condition, model, confidence
