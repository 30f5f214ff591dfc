-- One row: one model size of figure 2: area under the type-2 ROC, as printed.
-- Key: size.
-- Source: published/selfknowledge/figure_2.csv.
-- materialized: view
-- #UNIQUE(size)
-- #NOT_NULL(size, original_auc, esma_auc)
select *
from read_csv(
    'published/selfknowledge/figure_2.csv',
    header = true,
    columns = {
        'size': 'varchar', 'original_auc': 'double', 'esma_auc': 'double'
    }
)
