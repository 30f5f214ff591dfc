-- A benchmark is summed up by one measure under one condition.
select benchmark, count(*) as headlines
from measures
where headline
group by benchmark
having count(*) > 1
