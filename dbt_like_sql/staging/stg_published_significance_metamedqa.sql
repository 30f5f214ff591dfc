-- One row: one difference from the baseline prompt that the MetaMedQA paper marks (GPT-4o).
-- Key: condition, measure.
-- Source: published/metamedqa/significance.csv.
-- materialized: view
-- #UNIQUE(condition, measure)
-- #NOT_NULL(condition, measure)
-- columns:
--   stars: * p < 0.05, ** < 0.01, *** < 0.001, **** < 0.0001; null when not marked
--   p_stated: null where only stars are given
select
    condition,
    measure,
    stars,
    p_stated
from read_csv(
    'published/metamedqa/significance.csv',
    header = true,
    columns = {'condition': 'varchar', 'measure': 'varchar', 'stars': 'varchar', 'p_stated': 'double'}
)
