-- One row: one MetaMedQA question as it is asked.
-- Key: item_id.
-- Source: items/metamedqa.parquet.
-- materialized: view
-- #UNIQUE(item_id)
-- #NOT_NULL(item_id, question, target)
-- #SET{target: A|B|C|D|E|F}
-- columns:
--   target: the right letter; E none of the above, F cannot be answered
--   kind: what was done to the parent question, or Fictional
--   tags: subsets reported apart
select
    item_id,
    position,
    question,
    option_a,
    option_b,
    option_c,
    option_d,
    option_e,
    option_f,
    target,
    kind,
    meta_info,
    dataset,
    source_index,
    source_target,
    edit_kind,
    tags,
    item_hash
from read_parquet('items/metamedqa*.parquet', union_by_name = true)
