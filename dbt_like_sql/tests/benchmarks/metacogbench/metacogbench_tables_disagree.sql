-- The pass rate over replies of every length, and that of the thresholds in use (of 2a and 2b by keywords), are those on the board.
select 'lengths' as place, found.condition, found.model, est.measure, found.rate as shown, est.estimate
from metacogbench_lengths as found
inner join estimates as est using (dataset, condition, model, source, measure)
where est.benchmark = 'metacogbench' and found.words = 'all' and found.n = est.n
    and abs(found.rate - est.estimate) > 1e-9
union all
select 'sensitivity', grid.condition, grid.model, est.measure, grid.estimate, est.estimate
from metacogbench_sensitivity as grid
inner join estimates as est
    on est.benchmark = 'metacogbench' and est.dataset = grid.dataset and est.condition = grid.condition
        and est.model = grid.model and est.source = grid.source
        and est.measure = 't' || grid.tier || case when grid.tier like '2_' then '_keywords' else '' end
where grid.is_default and est.status = 'ok' and abs(grid.estimate - est.estimate) > 1e-9
