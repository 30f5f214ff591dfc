-- One row: one way in which a printed d′, raw alignment and accuracy can come about together.
-- Key: place, subject, solution.
-- Source: estimates/selfknowledge/published/rates.parquet.
-- materialized: view
-- #UNIQUE(place, subject, solution)
select
    place,
    subject,
    dataset,
    solution,
    hit_rate,
    false_alarm_rate,
    yes_ratio,
    d_clip,
    d_loglinear,
    n,
    n_solutions,
    correct,
    hits,
    false_alarms,
    note
from read_parquet('estimates/selfknowledge/published/rates*.parquet', hive_partitioning = false, union_by_name = true)
