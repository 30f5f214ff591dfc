-- A shift between two stated risks is the difference of the two numbers that are published of them.
select shift.task, shift.model, shift.measure, shift.a, shift.b, shift.difference, first.estimate - second.estimate as recounted
from signaldetection_criterion_shifts as shift
inner join estimates as first
    on first.benchmark = 'signaldetection' and first.dataset = shift.dataset and first.task = shift.task
        and first.model = shift.model and first.source = shift.source and first.measure = shift.measure
        and first.condition = shift.task || ' ' || shift.a
inner join estimates as second
    on second.benchmark = 'signaldetection' and second.dataset = shift.dataset and second.task = shift.task
        and second.model = shift.model and second.source = shift.source and second.measure = shift.measure
        and second.condition = shift.task || ' ' || shift.b
where abs(shift.difference - recounted) > 1e-9 * greatest(1, abs(recounted))
