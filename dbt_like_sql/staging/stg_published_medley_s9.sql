-- One row: one group of claims of table S9, as printed.
-- Key: category.
-- Source: published/medley/table_s9.csv.
-- materialized: view
-- #UNIQUE(category)
-- #NOT_NULL(category, claims, agree, disagree)
select
    category,
    claims,
    agree,
    disagree,
    agree_pct
from read_csv(
    'published/medley/table_s9.csv',
    header = true,
    columns = {
        'category': 'varchar', 'claims': 'bigint', 'agree': 'bigint', 'disagree': 'bigint', 'agree_pct': 'double'
    }
)
