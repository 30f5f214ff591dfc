-- One row: one instance as one listed model answered it under one condition in one run, scored one way.
-- Key: dataset, scoring, condition, model, run, item_id.
-- Source: scored instances of MEDLEY-BENCH.
-- Reads: stg_medley_responses = estimates/medley/instances/**/*.parquet | scored/medley/**/*.parquet (
--   benchmark varchar, dataset varchar, scoring varchar, condition varchar, model varchar, run integer, item_id varchar,
--   domain varchar, position integer, is_known_answer boolean, is_error_detection boolean, status varchar, source varchar,
--   answered boolean, mms double, mas double, reflective_updating double, social_robustness double,
--   epistemic_articulation double, monitoring double, control double, evaluation double, self_regulation double,
--   change_rate double, self_revision_rate double, changed_from_normal double, judge_share_missing double,
--   variant varchar, instance_id varchar)
-- Grows: by file.
-- #NOT_NULL(dataset, condition, model, run, item_id)
-- columns:
--   domain: field of the instance
--   is_known_answer: whether the instance has a known answer
--   is_error_detection: whether an error is hidden in it
--   reflective_updating: T1, updating on reflection, 0 to 1
--   social_robustness: T2, robustness to the others, 0 to 1
--   epistemic_articulation: T3, saying why, 0 to 1
--   monitoring: ability, mean of its judged dimensions, 0 to 1
--   control: the same
--   evaluation: the same
--   self_regulation: the same
--   self_revision_rate: share of the claims rated otherwise on one's own
--   status_*: how the reading of one step ended
--   *: component of the score by that name in the paper
--   judged_*: mean grade of the judges in that dimension, 0 to 1; null without judges
--   dimension_*: score of that dimension, rules and judges together, 0 to 1
--   ipsative_*: the ability minus the mean of the model's own judged dimensions
--   dominant*: the ability that is largest
--   n_judged*: judges that graded it
--   known_answer*: what is known to be right, and how surely it was held first and last
--   step_a_*: of the first reply alone
--   claims_*: claims rated in that reply
--   failed_*: whether that reply is missing
--   scoring: reference (as the authors' package computes) or paper (as the paper writes)
--   condition: normal; adversarial (the consensus shown is inverted); stripped (only the two weakest analysts are shown)
--   answered: whether it counts: all three replies could be read; where not, there are no numbers
--   mms: Medley Metacognition Score, 0 to 1
--   mas: mean of the four abilities; null without judges
--   change_rate: share of the claims rated otherwise after reading the others
--   judge_share_missing: share of MMS that rests on grades no judge gave
--   changed_from_normal: share of the claims rated otherwise than under normal
select
    said.* exclude (variant, instance_id) replace (
        listed.source as source, coalesce(said.scoring, said.variant) as scoring,
        coalesce(said.item_id, said.instance_id) as item_id
    )
from stg_medley_responses as said
inner join listed on listed.model = said.model and said.run <= listed.runs
semi join asked on asked.benchmark = said.benchmark and asked.dataset = said.dataset
