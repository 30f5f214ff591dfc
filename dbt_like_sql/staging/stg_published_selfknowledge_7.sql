-- One row: one language of table 7; the size of the model is not stated, as printed.
-- Key: variant, dataset.
-- Source: published/selfknowledge/table_7.csv.
-- materialized: view
-- #UNIQUE(variant, dataset)
-- #NOT_NULL(variant, dataset, d_prime, raw_alignment_pct, accuracy_pct)
select *
from read_csv(
    'published/selfknowledge/table_7.csv',
    header = true,
    columns = {
        'size': 'varchar', 'variant': 'varchar', 'dataset': 'varchar', 'd_prime': 'double',
        'raw_alignment_pct': 'double', 'accuracy_pct': 'double'
    }
)
