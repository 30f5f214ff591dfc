-- One row: one model of table S7, as printed: what inverted consensus and weak analysts change, in points of MMS.
-- Key: model.
-- Source: published/medley/table_s7.csv.
-- materialized: view
-- #UNIQUE(model)
-- #NOT_NULL(model, adversarial_delta, stripped_delta, profile)
select
    model,
    baseline,
    adversarial,
    adversarial_delta,
    stripped_delta,
    profile
from read_csv(
    'published/medley/table_s7.csv',
    header = true,
    columns = {
        'model': 'varchar', 'baseline': 'double', 'adversarial': 'double', 'adversarial_delta': 'double',
        'stripped_delta': 'double', 'profile': 'varchar'
    }
)
