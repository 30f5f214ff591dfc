-- One measure of one benchmark, condition and model has one number, whatever table shows it. The board may leave out a number
-- of which something is said; it never shows another. A single run is all the runs of a model that has one.
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
        select 'estimates' as place, benchmark, condition, model, source, measure, estimate from estimates
        union all
        select 'run_estimates', benchmark, condition, model, source, measure, estimate from single
        union all
        select 'calibration', benchmark, condition, model, source, measure, estimate from calibration
        union all
        select 'leaderboard', benchmark, condition, model, source, measure, estimate from board
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
union all
select benchmark, condition, model, measure, 'leaderboard, not published_values', estimate, estimate
from leaderboard as board
where source = 'published' and not exists (
    select 1 from published_values as said
    where said.benchmark = board.benchmark and said.model = board.model and said.measure = board.measure
        and starts_with(board.condition || ' ', concat_ws(' ', said.condition, ''))
        and said.value is not distinct from board.estimate
)
