-- One row: one readable response with a verdict, alike for every benchmark whose items have a right answer and a confidence.
-- Calibration, reliability diagrams and ROC curves are made of these.
-- Key: benchmark, dataset, condition, model, run, item_id.
-- Source: responses of the benchmarks, harmonised by each.
-- #NOT_NULL(benchmark, dataset, condition, model, run, item_id, correct, source)
-- #SET{source: measured|simulated}
-- columns:
--   cluster: the unit of chance: the item, or what several items share
--   correct: 1 right, 0 wrong
--   confidence: 0 to 1; null where none was stated
--   n_alternatives: how many answers could be chosen from; null where any text could be given
--   response: its first 280 characters
select
    said.benchmark,
    said.dataset,
    said.condition,
    said.model,
    said.run,
    said.item_id,
    said.cluster,
    said.correct,
    said.confidence,
    said.n_alternatives,
    left(said.response, 280) as response,
    listed.source
from stg_harmonised as said
inner join listed on listed.model = said.model and said.run <= listed.runs
inner join asked_benchmarks using (benchmark)
where said.correct is not null
