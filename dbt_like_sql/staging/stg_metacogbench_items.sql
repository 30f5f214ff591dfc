-- One row: one task of MetaCog-Bench as it is asked.
-- Key: item_id.
-- Source: items/metacogbench.parquet.
-- materialized: view
-- #UNIQUE(item_id)
-- #NOT_NULL(item_id, tier, dataset)
-- #SET{tier: 1a|1b|2a|2b|3}
-- columns:
--   dataset: metacog147 or metacog41
--   structure: what a story of tier 3 hides; it is never shown
select
    item_id,
    tier,
    family,
    level,
    domain,
    difficulty,
    structure,
    bet_rule,
    twin_of,
    item_set as dataset,
    position,
    item_hash
from read_parquet('items/metacogbench*.parquet', union_by_name = true)
