-- One row: how far one judge agrees with one rule of the scorer on the same replies. Judgements never enter a score.
-- Key: dataset, source, tier, condition, judge, relation, model, rule.
-- Source: stg_metacogbench_judges, int_metacogbench_question_sets.
-- #UNIQUE(dataset, source, tier, condition, judge, relation, model, rule)
-- #NOT_NULL(dataset, source, tier, condition, judge, relation, rule, n, status)
-- #SET{tier: 1a|1b|2a|2b|3}
-- #SET{source: measured|simulated}
-- columns:
--   judge: self (each model judges its own replies) or a row of [[judges]]
--   relation: self, same family, other family, or family unknown
--   model: whose replies, null for those of all models
--   rule: headline, or another way of scoring the tier that is kept beside it
--   judge_rate: share the judge passes, 0 to 1
--   rules_rate: share the rule passes of the same replies
--   difference: judge_rate - rules_rate: how far the tier would move
--   accuracy: share of replies on which both say the same
--   kappa: Cohen's, at most 1, 0 as by chance; null when both only ever say one thing
--   n: replies with both verdicts
--   n_items: tasks they are to; these are resampled for the 95 % intervals
--   n_judge_only: replies that pass by the judge alone
--   n_unread: judgements that say neither, or were refused
--   n_missing: replies without a judgement
select found.*
from stg_metacogbench_judges as found
inner join int_metacogbench_question_sets as asked using (dataset)
order by all
