-- One row: one stage of teaching invented facts, table 3, as printed.
-- Key: variant.
-- Source: published/selfknowledge/table_3.csv.
-- materialized: view
-- #UNIQUE(variant)
-- #NOT_NULL(variant, d_prime, raw_alignment_pct, accuracy_pct)
select *
from read_csv(
    'published/selfknowledge/table_3.csv',
    header = true,
    columns = {
        'variant': 'varchar', 'd_prime': 'double', 'raw_alignment_pct': 'double', 'accuracy_pct': 'double'
    }
)
