-- One row: one letter of one listed model and condition: how often it was chosen, and how well.
-- Runs are pooled. A high share of E inflates the recall of missing answers: read the two together.
-- Key: dataset, condition, model, letter.
-- Source: metamedqa_responses.
-- #NOT_NULL(dataset, condition, model, letter, n_chosen, n_keyed)
-- #SET{letter: A|B|C|D|E|F}
-- #SET{source: measured|simulated}
-- columns:
--   letter: A to F; E none of the above, F cannot be answered
--   n_items: items asked, answered or not
--   n_chosen: answers with this letter
--   n_keyed: items whose key is this letter
--   n_right: answers with this letter where it is the key
--   share: n_chosen / n_items
--   base_share: n_keyed / n_items
--   precision: n_right / n_chosen
--   recall: n_right / n_keyed
--   overused: E chosen for a fifth of the items or more
with
    cells as (
        -- Counted before anything else: a million answers are a few thousand rows then.
        select
            dataset, condition, model, source, kind, target, answer, confidence, count(*) as n, sum(correct)::bigint as n_correct
        from metamedqa_responses
        group by all
    ),
    letters as (select unnest(['A', 'B', 'C', 'D', 'E', 'F']) as letter),
    totals as (select dataset, condition, model, source, sum(n)::bigint as n_items from cells group by all),
    chosen as (
        select dataset, condition, model, answer as letter, sum(n) as n_chosen, sum(n) filter (where answer = target) as n_right
        from cells
        where answer is not null
        group by all
    ),
    keyed as (
        select dataset, condition, model, target as letter, sum(n) as n_keyed from cells group by all
    ),
    counted as (
        select
            dataset, condition, model, source, letter, n_items,
            coalesce(n_chosen, 0)::bigint as n_chosen,
            coalesce(n_keyed, 0)::bigint as n_keyed,
            coalesce(n_right, 0)::bigint as n_right
        from totals
        cross join letters
        left join chosen using (dataset, condition, model, letter)
        left join keyed using (dataset, condition, model, letter)
    )
select
    dataset,
    condition,
    model,
    letter,
    n_items,
    n_chosen,
    n_keyed,
    n_right,
    n_chosen / n_items as share,
    n_keyed / n_items as base_share,
    n_right / nullif(n_chosen, 0) as precision,
    n_right / nullif(n_keyed, 0) as recall,
    letter = 'E' and n_chosen / n_items >= 0.2 as overused,
    source
from counted
order by dataset, condition, model, letter
