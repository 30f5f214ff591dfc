-- An interval on the leaderboard has two ends in order, and an accuracy or a recall lies inside its own.
select benchmark, condition, model, measure, source, estimate, low, high
from leaderboard
where (low is null) <> (high is null)
    or low > high
    or (
        (measure = 'accuracy' or measure like '%recall')
        and (estimate < low - 1e-9 or estimate > high + 1e-9)
    )
