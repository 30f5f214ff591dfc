-- One row: one model of table S10, as printed: abilities relative to its own mean, in points.
-- Key: model.
-- Source: published/medley/table_s10.csv.
-- materialized: view
-- #UNIQUE(model)
-- #NOT_NULL(model, dominant, dominant_pct)
select
    rank,
    model,
    ipsative_monitoring,
    ipsative_control,
    ipsative_evaluation,
    ipsative_self_regulation,
    dominant,
    dominant_pct
from read_csv(
    'published/medley/table_s10.csv',
    header = true,
    columns = {
        'rank': 'bigint', 'model': 'varchar', 'ipsative_monitoring': 'double', 'ipsative_control': 'double',
        'ipsative_evaluation': 'double', 'ipsative_self_regulation': 'double', 'dominant': 'varchar',
        'dominant_pct': 'double'
    }
)
