-- One row: one kind of question and key of one listed model and condition: how often it was answered as keyed.
-- Runs are pooled; the interval treats answers as independent.
-- Key: dataset, condition, model, kind, key_group.
-- Source: metamedqa_responses.
-- #NOT_NULL(dataset, condition, model, kind, key_group, n)
-- #SET{key_group: A-D|E|F}
-- #SET{source: measured|simulated}
-- columns:
--   kind: Original, Answer removed, Answer modified, Question modified, Bad (malformed) or Fictional
--   key_group: A-D a listed answer is right, E none is, F cannot be answered
--   n: items asked, answered or not
--   accuracy: share answered as keyed; no letter counts as wrong
--   low: lower end of the 95 % Wilson interval
--   high: upper end of the 95 % Wilson interval
with
    cells as (
        -- Counted before anything else: a million answers are a few thousand rows then.
        select
            dataset, condition, model, source, kind, target, answer, confidence, count(*) as n, sum(correct)::bigint as n_correct
        from metamedqa_responses
        group by all
    ),
    counted as (
        select
            dataset, condition, model, source, kind, if(target in ('E', 'F'), target, 'A-D') as key_group,
            sum(n)::bigint as n, sum(n_correct)::bigint as k, sum(n_correct) / sum(n) as p
        from cells
        group by all
    )
select
    dataset,
    condition,
    model,
    kind,
    key_group,
    n,
    k as n_correct,
    p as accuracy,
    greatest(0, (p + 3.841458820694124 / (2 * n) - 1.959963984540054
        * sqrt(p * (1 - p) / n + 3.841458820694124 / (4 * n * n))) / (1 + 3.841458820694124 / n)) as low,
    least(1, (p + 3.841458820694124 / (2 * n) + 1.959963984540054
        * sqrt(p * (1 - p) / n + 3.841458820694124 / (4 * n * n))) / (1 + 3.841458820694124 / n)) as high,
    source
from counted
order by dataset, condition, model, kind, key_group
