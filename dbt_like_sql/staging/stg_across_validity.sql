-- One row: one pair of measures over the models that have both.
-- Key: source, a, b.
-- Source: estimates/across/validity.
-- materialized: view
select
    source,
    a,
    b,
    trait_a,
    trait_b,
    benchmark_a,
    benchmark_b,
    kind,
    n_models,
    spearman,
    low,
    high,
    status,
    reliability_a,
    reliability_b,
    disattenuated,
    disattenuated_low,
    disattenuated_high,
    disattenuated_status
from read_parquet('estimates/across/validity/*.parquet', hive_partitioning = false, union_by_name = true)
