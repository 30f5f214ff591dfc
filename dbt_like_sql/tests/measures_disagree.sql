-- One measure of one benchmark, condition and model has one number in every table. The board may leave out a number
-- with a remark; it never shows another. A single run is all the runs of a model that has one. The number has one
-- interval too; and so have the measures of a choice among m that a benchmark has of its own, next to those of all benchmarks:
-- they are computed once. Other pairs rest on confidences as they were stated and in whole percents.
with
    board as (
        select board.* replace (coalesce(board.estimate, if(est.status = 'ok', null, est.estimate)) as estimate)
        from leaderboard as board
        left join estimates as est using (benchmark, condition, model, source, measure)
    ),
    single as (
        select run.*
        from run_estimates as run
        inner join estimates as est using (benchmark, dataset, condition, model, source, measure)
        inner join models using (model)
        where models.runs = 1 and run.n = est.n and run.n_failed = est.n_failed and run.n_unreadable = est.n_unreadable
    ),
    shown as (
        select 'estimates' as place, benchmark, condition, model, source, measure, estimate, low, high from estimates
        union all
        select 'run_estimates', benchmark, condition, model, source, measure, estimate, low, high from single
        union all
        select 'calibration', benchmark, condition, model, source, measure, estimate, low, high from calibration
        union all
        select 'leaderboard', benchmark, condition, model, source, measure, estimate, low, high from board
    )
select
    benchmark,
    condition,
    model,
    measure,
    array_to_string(list_sort(list_distinct(list(place))), ', ') as places,
    min(estimate) as least,
    max(estimate) as most
from shown
group by benchmark, condition, model, source, measure
having max(estimate) - min(estimate) > 1e-9 * greatest(1, abs(max(estimate))) or count(estimate) not in (0, count(*))
    or max(low) - min(low) > 1e-6 * greatest(1, abs(max(low))) or max(high) - min(high) > 1e-6 * greatest(1, abs(max(high)))
union all
select own.benchmark, own.condition, own.model, own.measure, 'calibration, estimates: the interval', least(own.low, shared.low),
    greatest(own.high, shared.high)
from estimates as own
inner join calibration as shared
    on own.benchmark = shared.benchmark and own.dataset = shared.dataset and own.condition = shared.condition
    and own.model = shared.model and own.source = shared.source and shared.measure = 'harmonised_' || own.measure
where (own.measure = 'auroc2_ideal' or ends_with(own.measure, '_mafc'))
    and own.n = shared.n and abs(own.estimate - shared.estimate) <= 1e-9 * greatest(1, abs(own.estimate))
    and (coalesce(abs(own.low - shared.low) > 1e-6 * greatest(1, abs(own.low)), (own.low is null) != (shared.low is null))
    or coalesce(abs(own.high - shared.high) > 1e-6 * greatest(1, abs(own.high)), (own.high is null) != (shared.high is null)))
union all
select benchmark, condition, model, measure, 'leaderboard, not published_values', estimate, estimate
from leaderboard as board
where source = 'published' and not exists (
    select 1 from published_values as said
    where said.benchmark = board.benchmark and said.model = board.model and said.measure = board.measure
        and starts_with(board.condition || ' ', concat_ws(' ', said.condition, ''))
        and said.value is not distinct from board.estimate
)
