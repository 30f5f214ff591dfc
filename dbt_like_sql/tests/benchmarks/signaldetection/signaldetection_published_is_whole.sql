-- Nine published cells of the confidence experiment with three numbers each, and twenty-seven criteria, all with their trials.
select place, count(*) as numbers, count(n) as with_trials
from published_values
where benchmark = 'signaldetection'
group by place
having count(*) <> 27 or count(n) <> 27
