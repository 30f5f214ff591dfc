-- One row: one instance as one listed model answered it under one condition, averaged over its runs: for heat maps, and to
-- see on which instances models differ most.
-- Key: dataset, variant, condition, model, instance_id.
-- Source: stg_medley_instances, int_listed_models, int_medley_question_sets.
-- #UNIQUE(dataset, variant, condition, model, instance_id)
-- #NOT_NULL(dataset, variant, condition, model, instance_id, runs_scored)
-- #SET{source: measured|simulated}
-- columns:
--   runs_scored: runs that count; where there is none, there are no numbers
--   mms: 0 to 1
--   t1: reflective updating
--   t2: social robustness
--   t3: epistemic articulation
--   mas: mean of the four abilities; null without judges
--   change_rate: share of the claims rated otherwise after reading the others
--   variance_of_models: of mms over the models of the same source; the paper strips the fifty instances with the largest
with averaged as (
    select
        seen.dataset,
        seen.variant,
        seen.condition,
        seen.model,
        seen.instance_id,
        any_value(seen.domain) as domain,
        any_value(seen.position) as position,
        any_value(seen.is_known_answer) as is_known_answer,
        any_value(seen.is_error_detection) as is_error_detection,
        any_value(listed.source) as source,
        count(*) filter (where seen.answered) as runs_scored,
        avg(seen.mms) as mms,
        avg(seen.reflective_updating) as t1,
        avg(seen.social_robustness) as t2,
        avg(seen.epistemic_articulation) as t3,
        avg(seen.mas) as mas,
        avg(seen.monitoring) as monitoring,
        avg(seen.control) as control,
        avg(seen.evaluation) as evaluation,
        avg(seen.self_regulation) as self_regulation,
        avg(seen.change_rate) as change_rate,
        avg(seen.self_revision_rate) as self_revision_rate,
        avg(seen.changed_from_normal) as changed_from_normal,
        avg(seen.judge_share_missing) as judge_share_missing
    from stg_medley_instances as seen
    inner join int_listed_models as listed on listed.model = seen.model and seen.run <= listed.runs
    where seen.dataset in (select dataset from int_medley_question_sets)
    group by seen.dataset, seen.variant, seen.condition, seen.model, seen.instance_id
)

select
    averaged.*,
    var_pop(mms) over (partition by dataset, variant, condition, source, instance_id) as variance_of_models
from averaged
order by dataset, variant, condition, source, position, instance_id, model
