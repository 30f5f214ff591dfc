-- Every call is paid once, and the kinds of tokens and what is none of them are the whole cost.
select null as benchmark, null as model, counted.n as counted, kept.n as kept
from (select sum(calls) as n from costs) as counted, (select count(*) as n from calls) as kept
where counted.n <> kept.n
union all
select
    benchmark,
    model,
    cost_usd,
    input_usd + cached_usd + cache_write_usd + output_usd + reasoning_usd + unsplit_usd as split
from costs
where abs(split - cost_usd) > 1e-6 + 1e-9 * abs(cost_usd)
