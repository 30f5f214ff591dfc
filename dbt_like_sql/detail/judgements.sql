-- One row: one verdict of one judge on one response of a listed model, in one dimension.
-- Key: benchmark, dataset, condition, model, run, item_id, judge, dimension.
-- Source: judgements of the benchmarks.
-- #NOT_NULL(benchmark, dataset, condition, model, run, item_id, judge, status)
-- columns:
--   judge: self, or a row of [[judges]]; judge_model: who was asked
--   relation: self, same family, other family, or family unknown
--   dimension: what is graded
--   value: the grade, or 1 pass and 0 fail; null when the judge says neither
--   status: ok, unreadable, refused, too_long, transport_error or not_run
--   answer_id: of the judgement, in the transcripts
--   facts: what else is known of it, as JSON
select
    said.benchmark,
    said.dataset,
    said.condition,
    said.model,
    said.run,
    said.item_id,
    said.judge,
    said.judge_model,
    said.relation,
    said.dimension,
    said.value,
    said.status,
    said.reason,
    said.answer_id,
    said.cost_usd,
    said.source,
    said.facts
from stg_judgements as said
inner join listed on listed.model = said.model and said.run <= listed.runs
semi join asked on asked.benchmark = said.benchmark and asked.dataset = said.dataset
order by all
