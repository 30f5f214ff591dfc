-- One row: how often one published model gave each answer in one task of the confidence experiment.
-- Key: task, model.
-- Source: published/signaldetection/counts.csv.
-- materialized: view
-- #UNIQUE(task, model)
-- #NOT_NULL(task, model, n_ratings, nr_s1, nr_s2)
-- #SET{task: A|B|C}
-- columns:
--   n_ratings: confidence levels, 1 to n_ratings
--   n_s1: trials whose label is 0
--   n_s2: trials whose label is 1
--   nr_s1: trials whose label is 0, from "says 0, highest confidence" to "says 1, highest confidence"
--   nr_s2: trials whose label is 1, in the same order
select
    task,
    model,
    n_ratings,
    "n_S1" as n_s1,
    "n_S2" as n_s2,
    string_split("nR_S1", ';')::bigint[] as nr_s1,
    string_split("nR_S2", ';')::bigint[] as nr_s2
from read_csv(
    'published/signaldetection/counts.csv',
    header = true,
    columns = {
        'task': 'varchar', 'model': 'varchar', 'n_ratings': 'bigint', 'n_S1': 'bigint', 'n_S2': 'bigint',
        'nR_S1': 'varchar', 'nR_S2': 'varchar'
    }
)
