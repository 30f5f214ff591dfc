-- One row: one bin of a reliability diagram: answers of tier 1b stated with about the same confidence, all runs.
-- Key: dataset, condition, model, moment, bin.
-- Source: stg_metacogbench_reliability, int_listed_models, int_metacogbench_question_sets.
-- #UNIQUE(dataset, condition, model, moment, bin)
-- #NOT_NULL(dataset, condition, model, moment, bin, n)
-- #SET{moment: pre|post}
-- #SET{source: measured|simulated}
-- columns:
--   moment: pre (confidence before answering) or post
--   bin: 0 to 4, those of the headline calibration error
--   n: answers; n_items: the tasks they are to
--   stated_from: lower end of the bin, 0 to 1, inside it
--   stated_to: upper end of the bin, outside it but for the last
--   confidence: mean, 0 to 1; null when the bin is empty
--   accuracy: share right
--   low: lower end of the 95 % Wilson interval at n_items
--   high: upper end
--   gap: accuracy - confidence; below 0 is overconfident
select
    bins.benchmark,
    bins.dataset,
    bins.condition,
    bins.model,
    bins.moment,
    bins.bin,
    bins.n,
    bins.n_items,
    bins.stated_from,
    bins.stated_to,
    bins.confidence,
    bins.accuracy,
    bins.low,
    bins.high,
    bins.accuracy - bins.confidence as gap,
    listed.source
from stg_metacogbench_reliability as bins
inner join int_listed_models as listed using (model)
inner join int_metacogbench_question_sets as asked using (dataset)
order by benchmark, dataset, condition, model, moment desc, bin
