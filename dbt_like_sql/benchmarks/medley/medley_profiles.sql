-- One row: one model by one way of scoring, or one printed in the paper: what an inverted consensus and weak analysts do to
-- its MMS, what it behaves like, and which of its abilities are strong beside its own level.
-- Key: dataset, scoring, model, source.
-- Source: estimates, comparisons, published_values.
-- #NOT_NULL(model, source)
-- #SET{source: measured|published|simulated}
-- #SET{dominant: monitoring|control|evaluation|self_regulation}
-- columns:
--   adversarial_*: ends of its 95 % interval
--   stripped_*: ends of its 95 % interval
--   control: as monitoring
--   evaluation: as monitoring
--   self_regulation: as monitoring
--   scoring: how it was scored; null for printed rows
--   adversarial_delta: MMS with an inverted consensus minus MMS of the same instances without, -1 to 1. MMS is scored
--     otherwise there: one that changes nothing gains as well, so that its sign alone says little
--   stripped_delta: MMS with the two weakest analysts minus MMS of the same instances with all
--   crowd_pull: share of the claims rated otherwise because the consensus was inverted, arguments being the same
--   argument_pull: share rated otherwise because the stronger analysts were left out
--   quadrant: signs of both changes
--   profile: by a rule that gives ten of the eleven labels of the paper from the printed changes; published rows: as printed
--   character: argument-follower, crowd-follower, stubborn, hedger, random or silent, by what it changes
--   monitoring: the ability minus the mean of the model's own judged dimensions, -1 to 1, as the three others
--   dominant: the ability that is largest in most instances; null where that is not known
--   dominant_share: share of these instances
--   place: of printed abilities: table S10, or table 1, to whose abilities its rule is applied
with
    own as (
        select
            dataset,
            scoring,
            model,
            source,
            any_value(estimate) filter (measure = 'adversarial_delta') as adversarial_delta,
            any_value(low) filter (measure = 'adversarial_delta') as adversarial_low,
            any_value(high) filter (measure = 'adversarial_delta') as adversarial_high,
            any_value(estimate) filter (measure = 'stripped_delta') as stripped_delta,
            any_value(low) filter (measure = 'stripped_delta') as stripped_low,
            any_value(high) filter (measure = 'stripped_delta') as stripped_high,
            any_value(estimate) filter (measure = 'changed_from_normal' and condition like 'adversarial%') as crowd_pull,
            any_value(estimate) filter (measure = 'changed_from_normal' and condition like 'stripped%') as argument_pull,
            any_value(estimate) filter (measure = 'ipsative_monitoring' and condition like 'normal%') as monitoring,
            any_value(estimate) filter (measure = 'ipsative_control' and condition like 'normal%') as control,
            any_value(estimate) filter (measure = 'ipsative_evaluation' and condition like 'normal%') as evaluation,
            any_value(estimate) filter (measure = 'ipsative_self_regulation' and condition like 'normal%') as self_regulation,
            any_value(regexp_extract(method, 'dominant: (\w+)', 1)) filter (
                measure = 'dominant_share' and condition like 'normal%' and estimate is not null
            ) as dominant,
            any_value(estimate) filter (measure = 'dominant_share' and condition like 'normal%') as dominant_share
        from estimates
        where benchmark = 'medley'
        group by dataset, scoring, model, source
    ),
    labels as (
        select
            dataset,
            scoring,
            model,
            any_value(a) filter (family = 'cognitive_map') as quadrant,
            any_value(verdict) filter (family = 'cognitive_map') as profile,
            any_value(verdict) filter (family = 'character') as character
        from comparisons
        where benchmark = 'medley' and family in ('cognitive_map', 'character')
        group by dataset, scoring, model
    ),
    said as (
        select
            dataset,
            model,
            any_value(value) filter (measure = 'adversarial_delta') as adversarial_delta,
            any_value(value) filter (measure = 'stripped_delta') as stripped_delta,
            any_value(note) filter (measure = 'profile') as profile,
            any_value(value) filter (measure = 'monitoring') as m,
            any_value(value) filter (measure = 'control') as c,
            any_value(value) filter (measure = 'evaluation') as e,
            any_value(value) filter (measure = 'self_regulation') as s,
            (2 * m + 3 * c + 3 * e + 2 * s) / 10 as centre,
            any_value(value) filter (measure = 'ipsative_monitoring') as own_monitoring,
            any_value(value) filter (measure = 'ipsative_control') as own_control,
            any_value(value) filter (measure = 'ipsative_evaluation') as own_evaluation,
            any_value(value) filter (measure = 'ipsative_self_regulation') as own_self_regulation,
            any_value(replace(note, 'dominant: ', '')) filter (measure = 'dominant_share') as dominant,
            any_value(value) filter (measure = 'dominant_share') as dominant_share
        from published_values
        where benchmark = 'medley' and model is not null and (benchmark, dataset) in (select (benchmark, dataset) from asked)
        group by dataset, model
    ),
    printed as (
        select
            dataset,
            model,
            'published' as source,
            adversarial_delta,
            stripped_delta,
            if(profile is null, null, 'adversarial ' || if(adversarial_delta >= 0, 'up', 'down') || ', stripped '
            || if(stripped_delta >= 0, 'up', 'down')) as quadrant,
            profile,
            coalesce(own_monitoring, m - centre) as monitoring,
            coalesce(own_control, c - centre) as control,
            coalesce(own_evaluation, e - centre) as evaluation,
            coalesce(own_self_regulation, s - centre) as self_regulation,
            dominant,
            dominant_share,
            if(own_monitoring is null, 'table 1', 'table S10') as place
        from said
    )
select
    dataset,
    scoring,
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
    character,
    monitoring,
    control,
    evaluation,
    self_regulation,
    dominant,
    dominant_share,
    null::varchar as place
from own
left join labels using (dataset, scoring, model)
union all by name
select * from printed
order by source, scoring, model
