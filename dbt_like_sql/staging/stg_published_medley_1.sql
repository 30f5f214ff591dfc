-- One row: one model of table 1, as printed, in points of 0 to 100.
-- Key: model.
-- Source: published/medley/table_1.csv.
-- materialized: view
-- #UNIQUE(model)
-- #NOT_NULL(model, mms, mas, t1, t2, t3)
select
    rank,
    model,
    mms,
    mas,
    t1,
    t2,
    t3,
    monitoring,
    control,
    evaluation,
    self_regulation
from read_csv(
    'published/medley/table_1.csv',
    header = true,
    columns = {
        'rank': 'bigint', 'model': 'varchar', 'mms': 'double', 'mas': 'double', 't1': 'double', 't2': 'double',
        't3': 'double', 'monitoring': 'double', 'control': 'double', 'evaluation': 'double', 'self_regulation': 'double'
    }
)
