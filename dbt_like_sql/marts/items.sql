-- One row: one item as it is asked: how hard it is, over all listed models that are no simulated observers (over these where
-- there are no others).
-- Key: benchmark, item_id.
-- Source: items, answers.
-- #NOT_NULL(benchmark, item_id, dataset)
-- columns:
--   question: its text, in English where there are several languages
--   key: the right answer, where there is one
--   kind: sort, tier or domain of the item
--   n: responses with a verdict and a confidence
--   mean_confidence: 0 to 1
--   own: other columns of the study's own question file, by name
--   facts: everything its file says of it, as JSON
with
    counted as (
        select benchmark, item_id, count(*) as n, sum(correct)::bigint as n_correct,
            list_avg(list(confidence order by confidence)) as mean_confidence  -- the same whatever the order of the rows
        from answers
        where correct is not null
            and (source <> 'simulated' or not exists (select 1 from listed where source <> 'simulated'))
        group by benchmark, item_id
    )
select
    benchmark,
    items.dataset,
    items.task,
    item_id,
    items.position,
    items.question,
    items.key,
    items.kind,
    items.own,
    coalesce(counted.n, 0) as n,
    counted.n_correct,
    counted.mean_confidence,
    items.item_hash,
    items.facts
from kept_items as items
left join counted using (benchmark, item_id)
order by benchmark, items.position, item_id
