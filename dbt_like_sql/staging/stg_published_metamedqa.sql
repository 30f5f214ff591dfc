-- One row: one number the MetaMedQA paper states of one model under one condition, as printed.
-- Key: place, model, condition, measure.
-- Source: published/metamedqa/figures.csv.
-- materialized: view
-- #UNIQUE(place, model, condition, measure)
-- #NOT_NULL(place, model, condition, measure, unit)
-- #SET{unit: percent|points}
-- columns:
--   place: where in the paper
--   stated: as printed, in the unit given; null when the paper says N/A
--   half_width: printed 95 % half width, same unit
--   sem: printed standard error, same unit
--   n: questions behind the figure, where fixed
select
    place,
    model,
    condition,
    measure,
    stated,
    half_width,
    sem,
    unit,
    n,
    note
from read_csv(
    'published/metamedqa/figures.csv',
    header = true,
    columns = {
        'place': 'varchar', 'model': 'varchar', 'condition': 'varchar', 'measure': 'varchar', 'stated': 'double',
        'half_width': 'double', 'sem': 'double', 'unit': 'varchar', 'n': 'bigint', 'note': 'varchar'
    }
)
