-- Coverage lies between 0 and 1 and counts are not negative.
select benchmark, condition, model, measure, n, n_failed, n_unreadable, coverage
from leaderboard
where coverage < 0 or coverage > 1 or n < 0 or n_failed < 0 or n_unreadable < 0
