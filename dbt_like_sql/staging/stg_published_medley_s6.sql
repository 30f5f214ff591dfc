-- One row: one domain left out, of table S6, as printed.
-- Key: domain_removed.
-- Source: published/medley/table_s6.csv.
-- materialized: view
-- #UNIQUE(domain_removed)
-- #NOT_NULL(domain_removed, rho)
-- columns:
--   rho: of the ranking without the domain with the whole
--   spread_change: of best minus worst, in points of MMS
select
    domain_removed,
    rho,
    max_rank_shift,
    spread_change
from read_csv(
    'published/medley/table_s6.csv',
    header = true,
    columns = {'domain_removed': 'varchar', 'rho': 'double', 'max_rank_shift': 'bigint', 'spread_change': 'double'}
)
