-- Numbers on the leaderboard are finite or null; an interval has two ends in order, and an accuracy or a recall lies in its own.
select benchmark, condition, model, measure, source, estimate, low, high
from leaderboard
where not isfinite(coalesce(estimate, 0)) or not isfinite(coalesce(low, 0)) or not isfinite(coalesce(high, 0))
    or (low is null) <> (high is null)
    or low > high
    or (
        (measure = 'accuracy' or measure like '%recall')
        and (estimate < low - 1e-9 or estimate > high + 1e-9)
    )
