-- One row: one listed model with the headline of every benchmark: a column each.
pivot (select model, source, benchmark, estimate from leaderboard where headline and source <> 'published')
on benchmark using first(estimate)
order by source, model
