-- One row: one item as one listed model was asked it under one condition in one run, whether the reply could be read or not.
-- Key: benchmark, dataset, condition, model, run, item_id.
-- Source: responses of the benchmarks, harmonised by each; items.
-- #NOT_NULL(benchmark, dataset, condition, model, run, item_id, reading, source)
-- #SET{source: measured|simulated}
-- columns:
--   kind: sort, tier or domain of the item
--   own: other columns of the study's own question file, by name, as in own['specialty']
--   cluster: the unit of chance: the item, or what several items share
--   correct: 1 right, 0 wrong; null where nothing is right or wrong, or nothing could be read
--   confidence: 0 to 1; null where none was stated
--   n_alternatives: how many answers could be chosen from; null where any text could be given
--   response: its first 280 characters
--   reading: ok, or how the reading ended
--   reason: why nothing could be read
with
    -- An item that stands twice is the fault of the table items, which says so.
    asked as (select benchmark, item_id, first(kind) as kind, first(own) as own from kept_items group by benchmark, item_id)
select
    said.benchmark,
    said.dataset,
    said.condition,
    said.model,
    said.run,
    said.item_id,
    asked.kind,
    asked.own,
    said.cluster,
    said.correct,
    said.confidence,
    said.n_alternatives,
    left(said.response, 280) as response,
    said.reading,
    said.reason,
    listed.source
from stg_answers as said
inner join listed on listed.model = said.model and said.run <= listed.runs
inner join asked_benchmarks using (benchmark)
left join asked using (benchmark, item_id)
