-- One row: one model size and data set of table 6, as printed.
-- Key: size, variant, dataset.
-- Source: published/selfknowledge/table_6.csv.
-- materialized: view
-- #UNIQUE(size, variant, dataset)
-- #NOT_NULL(size, variant, dataset, d_prime, raw_alignment_pct, accuracy_pct)
select *
from read_csv(
    'published/selfknowledge/table_6.csv',
    header = true,
    columns = {
        'size': 'varchar', 'variant': 'varchar', 'dataset': 'varchar', 'd_prime': 'double',
        'raw_alignment_pct': 'double', 'accuracy_pct': 'double'
    }
)
