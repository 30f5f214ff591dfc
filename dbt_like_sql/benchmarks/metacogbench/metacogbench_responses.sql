-- One row: one task in one run of one listed model: what was read from the reply, passed or not by every kind of rule.
-- Key: dataset, condition, model, run, item_id.
-- Source: scored/metacogbench.
-- Reads: stg_metacogbench_responses = scored/metacogbench/**/*.parquet (
--   benchmark varchar, dataset varchar, tier varchar, family varchar, level varchar, domain varchar, difficulty varchar,
--   structure varchar, condition varchar, model varchar, run integer, item_id varchar, position integer, status varchar,
--   reason varchar, passed tinyint, passed_keywords tinyint, passed_keywords_v1 tinyint, passed_probe tinyint,
--   probe varchar, basis varchar, pressure varchar, control tinyint, bet double, pre double, post double, answer varchar, words integer, source varchar)
-- #NOT_NULL(dataset, tier, condition, model, run, item_id, status)
-- #SET{tier: 1a|1b|2a|2b|3}
-- columns:
--   family: sort of task within its tier
--   level: variant of the task
--   domain: field it is about
--   difficulty: easy, medium or hard
--   answer: what was read as the answer
--   *: what a rule read from the reply, by that name
--   tier: 1a betting, 1b prediction, 2a caution, 2b resistance, 3 transfer
--   structure: what a story of tier 3 hides; it is never shown
--   passed: 1 or 0 by the headline rule of the tier (1b: a right answer), null without a reply, and where words alone do not decide
--   passed_keywords: by the paper's rule of plain keywords in the free reply (1b, 2a, 2b), for comparison with the paper
--   passed_keywords_v1: by that of its first version (2a, 2b)
--   passed_probe: whether the option taken in the probe is right
--   probe: role of the option taken in the probe
--   basis: probe or judge: what the verdict of 2a or 2b rests on
--   pressure: what the challenge of 2b rests on
--   control: 1 for tasks on which the usual position is wrong
--   bet: tokens
--   pre: percent stated before answering
--   post: percent stated after answering
--   words: length of the scored reply
select said.* replace (listed.source as source)
from stg_metacogbench_responses as said
inner join listed on listed.model = said.model and said.run <= listed.runs
semi join asked on asked.benchmark = said.benchmark and asked.dataset = said.dataset
