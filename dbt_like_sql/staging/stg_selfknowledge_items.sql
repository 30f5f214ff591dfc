-- One row: one question of the self-knowledge benchmark as it is asked.
-- Key: item_id.
-- Source: items/selfknowledge.parquet.
-- materialized: view
-- #UNIQUE(item_id)
-- #NOT_NULL(item_id, dataset)
-- columns:
--   questions: by language, questions['en']
--   answers: the accepted ones by language; an empty list: nothing is right
--   question_id: items that share it ask the same
select
    item_id,
    dataset,
    split,
    position,
    questions,
    answers,
    question_id,
    event_id,
    topic,
    difficulty,
    source,
    source_row,
    item_hash
from read_parquet('items/selfknowledge*.parquet', union_by_name = true)
