-- One row: one question in one run of one listed model: what was answered, how surely, and whether as keyed.
-- Key: dataset, condition, model, run, item_id.
-- Source: scored responses of MetaMedQA.
-- Reads: stg_metamedqa_responses = scored/metamedqa/**/*.parquet (
--   benchmark varchar, dataset varchar, task varchar, condition varchar, model varchar, run integer, item_id varchar,
--   cluster varchar, position integer, status varchar, reason varchar, mode varchar, answer_ids varchar[],
--   latency_s double, cost_usd double, input_tokens bigint, output_tokens bigint, source varchar, kind varchar,
--   target varchar, answer varchar, confidence tinyint, correct tinyint, choice_probs double[],
--   confidence_probs double[], off_menu_mass double, tags varchar[], meta_info varchar, source_target varchar)
-- #NOT_NULL(dataset, condition, model, run, item_id, kind, target, status)
-- #SET{target: A|B|C|D|E|F}
-- #SET{answer: A|B|C|D|E|F}
-- #SET{confidence: 1|2|3|4|5}
-- columns:
--   kind: what was done to the parent question, or Fictional
--   target: the right letter; E none of the above, F cannot be answered
--   answer: the letter read, null when there is none
--   confidence: 1 (not at all) to 5 (absolutely sure), null when there is none
--   correct: 1 right, 0 wrong or no letter
--   off_menu_mass: probability outside the admissible letters, 0 to 1
--   tags: subsets reported separately
--   meta_info: examination step of the parent question
--   source_target: the letter of the parent question
--   source: measured or simulated
-- Lists of probabilities stay in the Parquet files: nothing on a board is made of them, and writing them takes a quarter of the time.
select said.* exclude (answer_ids, choice_probs, confidence_probs) replace (listed.source as source)
from stg_metamedqa_responses as said
inner join listed on listed.model = said.model and said.run <= listed.runs
semi join asked on asked.benchmark = said.benchmark and asked.dataset = said.dataset
