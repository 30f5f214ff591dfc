-- One row: one model asked under all conditions, or one printed in the paper: what an inverted consensus and weak analysts
-- do to its MMS, and what it behaves like.
-- Key: variant, model, source, dataset.
-- Source: medley_estimates, stg_medley_comparisons, int_medley_question_sets, stg_published_medley_s7.
-- #UNIQUE(variant, model, source, dataset)
-- #NOT_NULL(model, source)
-- #SET{source: measured|published|simulated}
-- columns:
--   variant: how it was scored; null for printed rows
--   adversarial_delta: MMS with an inverted consensus minus MMS of the same instances without, -1 to 1. MMS is scored
--     otherwise there: one that changes nothing gains as well, so that its sign alone says little
--   stripped_delta: MMS with the two weakest analysts minus MMS of the same instances with all
--   crowd_pull: share of the claims rated otherwise because the consensus was inverted, arguments being the same
--   quadrant: signs of both changes
--   profile: by a rule that gives ten of the eleven labels of the paper from the printed changes; published rows: as printed
--   character: argument-follower, crowd-follower, stubborn, hedger, random or silent, by what it changes
with
    changes as (
        select
            dataset,
            variant,
            model,
            source,
            any_value(estimate) filter (where measure = 'adversarial_delta') as adversarial_delta,
            any_value(low) filter (where measure = 'adversarial_delta') as adversarial_low,
            any_value(high) filter (where measure = 'adversarial_delta') as adversarial_high,
            any_value(estimate) filter (where measure = 'stripped_delta') as stripped_delta,
            any_value(low) filter (where measure = 'stripped_delta') as stripped_low,
            any_value(high) filter (where measure = 'stripped_delta') as stripped_high,
            any_value(estimate) filter (where measure = 'changed_from_normal' and condition = 'adversarial') as crowd_pull,
            any_value(estimate) filter (where measure = 'changed_from_normal' and condition = 'stripped') as argument_pull
        from medley_estimates
        group by dataset, variant, model, source
    ),
    labels as (
        select
            dataset,
            variant,
            model,
            any_value(a) filter (where family = 'cognitive_map') as quadrant,
            any_value(verdict) filter (where family = 'cognitive_map') as profile,
            any_value(verdict) filter (where family = 'character') as character
        from stg_medley_comparisons
        inner join int_medley_question_sets using (dataset)
        where family in ('cognitive_map', 'character')
        group by dataset, variant, model
    ),
    printed as (
        select
            'published' as dataset,
            model,
            'published' as source,
            adversarial_delta / 100 as adversarial_delta,
            stripped_delta / 100 as stripped_delta,
            'adversarial ' || if(adversarial_delta >= 0, 'up', 'down') || ', stripped '
            || if(stripped_delta >= 0, 'up', 'down') as quadrant,
            lower(profile) as profile
        from stg_published_medley_s7
        where 'published' in (select dataset from int_medley_question_sets)
    )
select
    dataset,
    variant,
    model,
    source,
    adversarial_delta,
    adversarial_low,
    adversarial_high,
    stripped_delta,
    stripped_low,
    stripped_high,
    crowd_pull,
    argument_pull,
    quadrant,
    profile,
    character
from changes
left join labels using (dataset, variant, model)
union all by name
select * from printed
order by source, variant, model
