-- One row: how often one listed model gave one answer to one label, in one task, condition and run: what nR_S1 and nR_S2
-- of other fitting programs are made of. A combination that never occurred has no row. Answers that could not be read in
-- full stand under null and belong in no fit.
-- Key: dataset, task, condition, model, run, stimulus, response, confidence.
-- Source: int_signaldetection_cells.
-- #UNIQUE(dataset, task, condition, model, run, stimulus, response, confidence)
-- #NOT_NULL(dataset, task, condition, model, run, stimulus, n)
-- #SET{stimulus: 0|1}
-- #SET{response: 0|1}
-- #SET{source: measured|simulated}
-- columns:
--   stimulus: the true label; rows with 0 make nR_S1, rows with 1 nR_S2
--   response: the label answered
--   confidence: as stated, null in the risk conditions, which do not ask for one
--   bin: order of the bins of nR_S1 and nR_S2: says 0 from the highest confidence down, then says 1 from the lowest up
--   n: answers
select
    dataset,
    task,
    condition,
    model,
    run,
    stimulus,
    response,
    confidence,
    if(response = 0, -confidence, confidence) as bin,
    sum(n)::bigint as n,
    source
from int_signaldetection_cells
group by all
order by dataset, task, condition, model, run, stimulus, response, bin, confidence
