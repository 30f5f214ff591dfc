-- One row: one way of training of table 5, as printed.
-- Key: model, variant.
-- Source: published/selfknowledge/table_5.csv.
-- materialized: view
-- #UNIQUE(model, variant)
-- #NOT_NULL(model, variant, d_prime, raw_alignment_pct, accuracy_pct, yes_ratio_pct, yfr_pct, nfr_pct)
select *
from read_csv(
    'published/selfknowledge/table_5.csv',
    header = true,
    columns = {
        'model': 'varchar', 'variant': 'varchar', 'd_prime': 'double', 'raw_alignment_pct': 'double',
        'accuracy_pct': 'double', 'yes_ratio_pct': 'double', 'yfr_pct': 'double', 'nfr_pct': 'double'
    }
)
