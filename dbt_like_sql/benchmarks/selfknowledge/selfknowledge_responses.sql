-- One row: one question in one run of one listed model: the replies, whether the answer was right, and whether the model claimed to know it.
-- Key: dataset, condition, model, run, item_id.
-- Source: observations of self-knowledge; questions and accepted answers are in items.
-- Reads: stg_selfknowledge_responses = scored/selfknowledge/**/*.parquet (
--   benchmark varchar, dataset varchar, split varchar, condition varchar, language varchar, model varchar, run integer,
--   item_id varchar, question_id varchar, event_id varchar, position integer, answerable tinyint, output varchar,
--   meta_output varchar, correct tinyint, correct_inclusion tinyint, yes tinyint, yes_reference tinyint,
--   abstained tinyint, confidence double, status varchar, reason varchar, truncated tinyint, meta_truncated tinyint,
--   latency_s double, cost_usd double, input_tokens bigint, output_tokens bigint, mode varchar, answer_ids varchar[],
--   knew tinyint, all_aligned tinyint, by_reader tinyint, matching varchar, yes_no varchar,
--   wording varchar, source varchar)
-- #NOT_NULL(dataset, condition, model, run, item_id, status)
-- columns:
--   split: part of the data set
--   language: asked in
--   output: the reply to the direct question, or to the one question
--   meta_output: the reply to "do you know it?", null where one question is asked
--   correct: 1 or 0 by the study's matching rule or its reader model, null without an answer
--   by_reader: whether the reader model took the reply for an accepted answer; null where it was not asked
--   correct_inclusion: the same where an accepted answer is any part of the reply, as published
--   yes: whether the model claimed to know, by the study's rule; null where the meta reply says neither
--   yes_reference: by the published rules
--   abstained: 1 or 0, where one question is asked
--   knew: whether the model was right when asked for the answer, where one question is asked
--   confidence: P(yes) / (P(yes) + P(no)) of the meta reply, 0 to 1; null where no log-probabilities were kept
--   aligned: right = yes
--   all_aligned: right, known and not abstained are all the same
--   answerable: whether the question has an answer
--   question_id: items that share it ask the same
--   event_id: items that share it are about the same
--   truncated: whether the reply was cut off
--   meta_truncated: whether the meta reply was cut off
--   matching*: rule by which an answer is right
--   yes_no*: rule by which a yes is read
--   wording*: digest of the words both questions were asked in
select
    said.* exclude (answer_ids) replace (listed.source as source),
    (said.correct = said.yes)::tinyint as aligned
from stg_selfknowledge_responses as said
inner join listed on listed.model = said.model and said.run <= listed.runs
semi join asked on asked.benchmark = said.benchmark and asked.dataset = said.dataset
