-- Every model the study lists has a coverage on the board of every benchmark the study asks, answered or not.
select asked.benchmark, listed.model
from int_listed_models as listed
cross join int_benchmarks as asked
where not exists (
    select 1 from board
    where board.benchmark = asked.benchmark and board.model = listed.model and board.measure = 'coverage'
        and board.source <> 'published'
)
