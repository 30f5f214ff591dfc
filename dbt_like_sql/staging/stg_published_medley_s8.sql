-- One row: two ways to average over instances, of table S8, as printed.
-- Key: a, b.
-- Source: published/medley/table_s8.csv.
-- materialized: view
-- #UNIQUE(a, b)
-- #NOT_NULL(a, b, rho)
select
    a,
    b,
    rho
from read_csv(
    'published/medley/table_s8.csv', header = true, columns = {'a': 'varchar', 'b': 'varchar', 'rho': 'double'}
)
