-- One row: two domains of table S5, as printed.
-- Key: a, b.
-- Source: published/medley/table_s5.csv.
-- materialized: view
-- #UNIQUE(a, b)
-- #NOT_NULL(a, b, rho)
-- columns:
--   rho: Spearman's, of MMS over 35 models
select
    a,
    b,
    rho
from read_csv(
    'published/medley/table_s5.csv', header = true, columns = {'a': 'varchar', 'b': 'varchar', 'rho': 'double'}
)
