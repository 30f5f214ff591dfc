-- One row: one remark about one printed number.
-- Key: place, task, model, condition, measure.
-- Source: published/signaldetection/notes.csv.
-- materialized: view
-- #UNIQUE(place, task, model, condition, measure)
-- #NOT_NULL(place, task, model, condition, measure, note)
-- columns:
--   place: where in the paper
select
    "table" as place,
    task,
    model,
    condition,
    measure,
    note
from read_csv(
    'published/signaldetection/notes.csv',
    header = true,
    columns = {
        'table': 'varchar', 'task': 'varchar', 'model': 'varchar', 'condition': 'varchar', 'measure': 'varchar',
        'note': 'varchar'
    }
)
