-- One row: one trial in one run of one listed model: which label was answered, and how surely.
-- Key: dataset, task, condition, model, run, item_id.
-- Source: scored responses of signal detection. Counted by stimulus, response and confidence, these make nR_S1 and nR_S2.
-- Reads: stg_signaldetection_responses = scored/signaldetection/**/*.parquet (
--   benchmark varchar, dataset varchar, task varchar, condition varchar, model varchar, run integer, item_id varchar,
--   position integer, stimulus tinyint, response tinyint, confidence tinyint, correct tinyint, status varchar,
--   reason varchar, latency_s double, cost_usd double, input_tokens bigint, output_tokens bigint, mode varchar,
--   answer_ids varchar[], source varchar)
-- #NOT_NULL(dataset, task, condition, model, run, item_id, stimulus, status)
-- #SET{stimulus: 0|1}
-- #SET{response: 0|1}
-- columns:
--   condition: confidence (decision and confidence), or what is punished: risk_none, risk_s1 (saying 0 wrongly), risk_s2
--   stimulus: the true label; rows with 0 make nR_S1, rows with 1 nR_S2
--   response: the label answered, null when there is none
--   confidence: 1 (a guess) upwards, null when there is none or none was asked for
--   correct: 1 when response is stimulus
--   source: measured or simulated
select said.* exclude (answer_ids) replace (listed.source as source)
from stg_signaldetection_responses as said
inner join listed on listed.model = said.model and said.run <= listed.runs
semi join asked on asked.benchmark = said.benchmark and asked.dataset = said.dataset and asked.task = said.task
