-- One row: one task in one run of one listed model: passed or not, by every kind of rule. The matrix of models × runs ×
-- tasks; pivot it on model and run.
-- Key: dataset, condition, model, run, item_id.
-- Source: stg_metacogbench_observations, int_listed_models, int_metacogbench_question_sets.
-- #UNIQUE(dataset, condition, model, run, item_id)
-- #NOT_NULL(dataset, tier, condition, model, run, item_id, status)
-- #SET{tier: 1a|1b|2a|2b|3}
-- #SET{source: measured|simulated}
-- columns:
--   passed: 1 or 0 by the headline rule of the tier (1b: a right answer), null without a reply
--   passed_lit: by the rule as published: plain keywords, no slot test
--   passed_grounded: by what the task itself omits (2a) or claims (2b), null in other tiers
--   pass_rate: share of all listed models and runs of the same source that pass the task
--   status: ok, or why there is no full reading
with rows as (
    select
        seen.*,
        listed.source as kind
    from stg_metacogbench_observations as seen
    inner join int_listed_models as listed on listed.model = seen.model and seen.run <= listed.runs
    inner join int_metacogbench_question_sets as asked using (dataset)
)

select
    benchmark,
    dataset,
    tier,
    family,
    level,
    domain,
    difficulty,
    structure,
    condition,
    model,
    run,
    item_id,
    position,
    passed,
    passed_lit,
    passed_grounded,
    avg(passed) over (partition by dataset, condition, kind, item_id) as pass_rate,
    bet,
    pre,
    post,
    answer,
    words,
    status,
    reason,
    kind as source
from rows
order by dataset, condition, tier, position, item_id, model, run
