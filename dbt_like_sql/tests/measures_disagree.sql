-- One measure of one benchmark, condition and model has one number, whatever table shows it.
with shown as (
    select 'estimates' as place, benchmark, condition, model, measure, estimate from estimates
    union all
    select 'calibration', benchmark, condition, model, measure, estimate from calibration
    union all
    select 'leaderboard', benchmark, condition, model, measure, estimate from leaderboard
)
select
    benchmark,
    condition,
    model,
    measure,
    string_agg(distinct place, ', ' order by place) as places,
    min(estimate) as least,
    max(estimate) as most
from shown
group by benchmark, condition, model, measure
having max(estimate) - min(estimate) > 1e-12 or count(distinct estimate is null) > 1
