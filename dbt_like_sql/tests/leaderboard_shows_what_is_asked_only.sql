-- A benchmark the study no longer asks leaves the board, and so does a retired model.
select distinct benchmark, model
from leaderboard
where benchmark not in (select benchmark from asked_benchmarks)
    or (source <> 'published' and model not in (select model from models))
