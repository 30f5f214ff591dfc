-- Every model the study lists has a coverage on the board of every benchmark the study asks, answered or not.
select asked.benchmark, models.model
from models
cross join asked_benchmarks as asked
where not exists (
    select 1 from leaderboard as board
    where board.benchmark = asked.benchmark and board.model = models.model and board.measure = 'coverage'
        and board.source <> 'published'
) and exists (select 1 from leaderboard as board where board.benchmark = asked.benchmark and board.measure = 'coverage')
