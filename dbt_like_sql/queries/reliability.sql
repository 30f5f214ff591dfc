-- One row: one stated confidence of one model: how often it was stated and how often it was right.
select
    benchmark,
    condition,
    model,
    round_even(100 * confidence, 0)::bigint as percent,
    count(*) as n,
    avg(correct) as accuracy
from responses
where confidence is not null
group by all
order by all
