-- One row: one model of table 2, asked twice and asked once with leave to abstain, as printed.
-- Key: model, variant.
-- Source: published/selfknowledge/table_2.csv.
-- materialized: view
-- #UNIQUE(model, variant)
-- #NOT_NULL(model, variant, dual_accuracy_pct, idk_accuracy_pct, idk_alignment_pct, all_alignment_pct)
select *
from read_csv(
    'published/selfknowledge/table_2.csv',
    header = true,
    columns = {
        'model': 'varchar', 'variant': 'varchar', 'dual_accuracy_pct': 'double', 'idk_accuracy_pct': 'double',
        'idk_alignment_pct': 'double', 'all_alignment_pct': 'double'
    }
)
