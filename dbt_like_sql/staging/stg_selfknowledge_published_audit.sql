-- One row: one printed number beside what the numbers printed with it give.
-- Key: place, subject, quantity, method.
-- Source: estimates/selfknowledge/published/audit.parquet.
-- materialized: view
-- #UNIQUE(place, subject, quantity, method)
select
    place,
    subject,
    quantity,
    method,
    published,
    recomputed,
    difference,
    tolerance,
    follows,
    note
from read_parquet('estimates/selfknowledge/published/audit*.parquet', hive_partitioning = false, union_by_name = true)
