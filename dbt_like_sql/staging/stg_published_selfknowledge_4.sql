-- One row: one reward of table 4, as printed.
-- Key: variant.
-- Source: published/selfknowledge/table_4.csv.
-- materialized: view
-- #UNIQUE(variant)
-- #NOT_NULL(variant, d_prime, raw_alignment_pct, accuracy_pct)
select *
from read_csv(
    'published/selfknowledge/table_4.csv',
    header = true,
    columns = {
        'variant': 'varchar', 'd_prime': 'double', 'raw_alignment_pct': 'double', 'accuracy_pct': 'double'
    }
)
