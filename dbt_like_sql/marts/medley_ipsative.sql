-- One row: one model, or one printed in the paper: each ability minus the mean of its own judged dimensions, so that
-- strengths show beside the model's own level.
-- Key: variant, model, source, dataset.
-- Source: medley_estimates, stg_published_medley_1, stg_published_medley_s10, int_medley_question_sets.
-- #UNIQUE(variant, model, source, dataset)
-- #NOT_NULL(model, source)
-- #SET{source: measured|published|simulated}
-- #SET{dominant: monitoring|control|evaluation|self_regulation}
-- columns:
--   variant: how it was scored; null for printed rows
--   monitoring: -1 to 1, as the others
--   dominant: the ability that is largest in most instances; null where that is not known
--   dominant_share: share of these instances
--   place: table S10 (printed), table 1 (from the printed abilities), or null
with
    own as (
        select
            dataset,
            variant,
            model,
            source,
            any_value(estimate) filter (where measure = 'ipsative_monitoring') as monitoring,
            any_value(estimate) filter (where measure = 'ipsative_control') as control,
            any_value(estimate) filter (where measure = 'ipsative_evaluation') as evaluation,
            any_value(estimate) filter (where measure = 'ipsative_self_regulation') as self_regulation,
            any_value(regexp_extract(method, 'dominant: (\w+)', 1)) filter (
                where measure = 'dominant_share' and estimate is not null
            ) as dominant,
            any_value(estimate) filter (where measure = 'dominant_share') as dominant_share
        from medley_estimates
        where condition = 'normal'
        group by dataset, variant, model, source
    ),
    printed as (
        select
            'published' as dataset,
            whole.model,
            'published' as source,
            -- Table S10 has fifteen models; for the others its rule is applied to the abilities of table 1.
            (2 * whole.monitoring + 3 * whole.control + 3 * whole.evaluation + 2 * whole.self_regulation) / 10 as centre,
            coalesce(s10.ipsative_monitoring, whole.monitoring - centre) / 100 as monitoring,
            coalesce(s10.ipsative_control, whole.control - centre) / 100 as control,
            coalesce(s10.ipsative_evaluation, whole.evaluation - centre) / 100 as evaluation,
            coalesce(s10.ipsative_self_regulation, whole.self_regulation - centre) / 100 as self_regulation,
            s10.dominant,
            s10.dominant_pct / 100 as dominant_share,
            if(s10.model is null, 'table 1', 'table S10') as place
        from stg_published_medley_1 as whole
        left join stg_published_medley_s10 as s10 on s10.model = whole.model
        where 'published' in (select dataset from int_medley_question_sets)
    )
select
    dataset,
    variant,
    model,
    source,
    monitoring,
    control,
    evaluation,
    self_regulation,
    dominant,
    dominant_share,
    null::varchar as place
from own
where monitoring is not null
union all by name
select * exclude (centre) from printed
order by source, variant, model
