-- What a call cost is its tokens times its prices, where it was billed once and both are kept.
select answer_id, cost_usd, input_usd + cached_usd + cache_write_usd + output_usd + reasoning_usd as recomputed
from calls
semi join costs using (benchmark, model)
where attempts_billed = 1 and abs(recomputed - cost_usd) > 1e-9 + 1e-9 * abs(cost_usd)
