-- One row: one judge's verdict on one reply of a listed model, beside that of the rules.
-- Key: dataset, condition, model, run, item_id, judge.
-- Source: stg_metacogbench_judgements, int_listed_models, int_metacogbench_question_sets.
-- #UNIQUE(dataset, condition, model, run, item_id, judge)
-- #NOT_NULL(dataset, tier, condition, model, run, item_id, judge, relation, status)
-- columns:
--   judge: self or a row of [[judges]]; judge_model: who was asked
--   verdict: 1 pass, 0 fail, null when the judge says neither
--   by_rules: the headline verdict of the scorer
--   status: ok, unreadable, refused, too_long, transport_error or not_run
--   answer_id: of the judgement, in the transcripts
select
    said.benchmark,
    said.dataset,
    said.tier,
    said.condition,
    said.model,
    said.run,
    said.item_id,
    said.judge,
    said.judge_model,
    said.relation,
    said.verdict,
    said.by_rules,
    said.status,
    said.reason,
    said.answer_id,
    said.cost_usd,
    said.source
from stg_metacogbench_judgements as said
inner join int_listed_models as listed on listed.model = said.model and said.run <= listed.runs
inner join int_metacogbench_question_sets as asked using (dataset)
order by dataset, condition, tier, item_id, model, run, judge
