-- One row: one instance as one model answered it under one condition in one run, scored one way.
-- Key: dataset, variant, condition, model, run, instance_id.
-- Source: estimates/medley/instances.
-- materialized: view
-- columns:
--   answered: whether it counts: all three replies could be read; where not, there are no numbers
--   mms: Medley Metacognition Score, 0 to 1
select *
from read_parquet('estimates/medley/instances/**/*.parquet', hive_partitioning = false, union_by_name = true)
