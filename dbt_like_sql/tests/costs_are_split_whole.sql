-- The kinds of tokens and what is none of them are the whole cost.
select benchmark, model, cost_usd
from costs
where
    abs(input_usd + cached_usd + cache_write_usd + output_usd + reasoning_usd + unsplit_usd - cost_usd)
    > 1e-6 + 1e-9 * abs(cost_usd)
