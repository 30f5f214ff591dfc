-- One row: one measure of agreement of judges on one dimension, of all of them or of two.
-- Key: dataset, source, reading, measure, dimension, a, b.
-- Source: estimates/medley/agreement.
-- materialized: view
select
    benchmark,
    dataset,
    source,
    reading,
    measure,
    dimension,
    a,
    b,
    estimate,
    low,
    high,
    n,
    method,
    status
from read_parquet('estimates/medley/agreement/*.parquet', hive_partitioning = false, union_by_name = true)
