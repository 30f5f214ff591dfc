-- One row: one number a paper prints, in the units and names of the board. Rows without a model are about all of them.
-- Key: benchmark, place, dataset, task, condition, model, measure.
-- Source: estimates/*/published/published_values.parquet, made of data/published.
-- #NOT_NULL(benchmark, place, dataset, measure)
-- columns:
--   place: where in the paper
--   value: in the unit of the measure; null where the paper says N/A, or says it in words
--   low: lower end of the printed 95 % interval, or 1.96 printed standard errors below the value; not clipped
--   high: its upper end
--   sd: printed standard deviation over runs
--   n: its answers or items, null where the paper does not say
--   unit: unit the paper prints it in, where that is not the measure's
--   note: marks and words printed with it
select said.*
from stg_published_values as said
order by all
