-- One row: one model on one benchmark: its headline, what it cost and how long an answer took.
select
    costs.benchmark,
    costs.model,
    board.measure,
    board.estimate,
    board.low,
    board.high,
    costs.cost_usd,
    costs.answers,
    costs.mean_latency_s
from costs
inner join leaderboard as board
    on board.benchmark = costs.benchmark and board.model = costs.model and board.headline and board.source <> 'published'
order by costs.benchmark, board.rank nulls last, costs.model
