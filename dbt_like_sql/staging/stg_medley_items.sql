-- One row: one MEDLEY instance as it is asked.
-- Key: item_id.
-- Source: items/medley.parquet.
-- materialized: view
-- #UNIQUE(item_id)
-- #NOT_NULL(item_id, domain, dataset)
select
    item_id,
    domain,
    is_known_answer,
    is_error_detection,
    dataset,
    position
from read_parquet('items/medley*.parquet', union_by_name = true)
