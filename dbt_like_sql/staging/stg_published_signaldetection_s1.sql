-- One row: one model and task of table S1, as printed: posterior means.
-- Key: task, model.
-- Source: published/signaldetection/table_s1.csv.
-- materialized: view
-- #UNIQUE(task, model)
-- #NOT_NULL(task, model)
-- #SET{task: A|B|C}
-- columns:
--   dprime: d′
--   m_ratio: meta-d′ / d′
select
    task,
    model,
    dprime,
    meta_d,
    "M_ratio" as m_ratio
from read_csv(
    'published/signaldetection/table_s1.csv',
    header = true,
    columns = {'task': 'varchar', 'model': 'varchar', 'dprime': 'double', 'meta_d': 'double', 'M_ratio': 'double'}
)
