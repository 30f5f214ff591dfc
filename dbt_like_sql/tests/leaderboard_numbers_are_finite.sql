-- No NaN and no infinity reaches the leaderboard; what has no value is null.
select benchmark, condition, model, measure, estimate, low, high
from leaderboard
where not isfinite(coalesce(estimate, 0)) or not isfinite(coalesce(low, 0)) or not isfinite(coalesce(high, 0))
