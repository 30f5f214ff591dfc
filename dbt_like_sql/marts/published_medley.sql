-- One row: one number the MEDLEY-BENCH paper prints of a model, in the units and names of the board.
-- Key: condition, model, measure.
-- Source: stg_published_medley_1, stg_published_medley_s7, stg_published_medley_s10 (arXiv:2604.16009).
-- #UNIQUE(condition, model, measure)
-- #NOT_NULL(place, condition, model, measure, value)
-- #SET{place: table 1|table S7|table S10}
-- columns:
--   place: where in the paper
--   value: printed points / 100, so that 1 is the most
--   n: instances of the data set; null where the paper does not say
with
    scores as (
        unpivot (select * exclude (rank) from stg_published_medley_1)
        on mms, mas, t1, t2, t3, monitoring, control, evaluation, self_regulation
        into name measure value points
    ),
    changes as (
        unpivot (select model, adversarial, adversarial_delta, stripped_delta from stg_published_medley_s7)
        on adversarial, adversarial_delta, stripped_delta
        into name measure value points
    ),
    profiles as (
        unpivot (
            select model, ipsative_monitoring, ipsative_control, ipsative_evaluation, ipsative_self_regulation
            from stg_published_medley_s10
        )
        on ipsative_monitoring, ipsative_control, ipsative_evaluation, ipsative_self_regulation
        into name measure value points
    )
select 'table 1' as place, 'normal' as condition, model, measure, points / 100 as value, 130 as n
from scores
union all
select
    'table S7',
    if(measure = 'stripped_delta', 'stripped', 'adversarial'),
    model,
    if(measure = 'adversarial', 'mms', measure),
    points / 100,
    if(measure = 'stripped_delta', 50, 30)
from changes
union all
select 'table S10', 'normal', model, measure, points / 100, 130
from profiles
order by place, condition, model, measure
