-- One row: one signal-detection item as it is asked.
-- Key: item_id.
-- Source: items/signaldetection.parquet.
-- materialized: view
-- #UNIQUE(item_id)
-- #NOT_NULL(item_id, task, stimulus, text)
-- #SET{stimulus: 0|1}
-- columns:
--   task: A sentiment, B oral or written, C was one "the" deleted
--   stimulus: the true label; S1 is 0, S2 is 1
select
    item_id,
    task,
    stimulus,
    text,
    dataset,
    source,
    source_row,
    position,
    item_hash
from read_parquet('items/signaldetection*.parquet', union_by_name = true)
