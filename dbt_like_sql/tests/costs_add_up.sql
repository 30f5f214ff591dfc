-- Every call is paid once.
select sum(calls) as counted, (select count(*) from calls) as kept
from costs
having sum(calls) <> (select count(*) from calls)
