-- One row: one number that a board shows: a measure of one model under one condition. Measures that only experts look for
-- (`detail` in the table measures) are in estimates and calibration.
-- Key: benchmark, condition, model, measure, source.
-- Source: leaderboard, calibration, measures.
-- #NOT_NULL(benchmark, condition, model, measure, source, status)
-- #SET{source: measured|simulated|published|human}
-- columns:
--   estimate: null where there is no value, status says why
--   coverage: readable answers / asked, 0 to 1
--   rank: 1 is best by value; how sure that is: verdict and pairs
with
    calibrated as (
        select
            benchmark, condition, model, measure, source, estimate, low, high, n,
            n / nullif(n + n_without_confidence, 0) as coverage, low_n, status
        from calibration
    )
select
    board.benchmark,
    board.condition,
    board.model,
    board.measure,
    said.label,
    said.unit,
    board.estimate,
    board.low,
    board.high,
    board.n,
    board.coverage,
    board.low_n,
    board.status,
    board.source,
    board.headline,
    said.higher_is_better,
    board.rank
from (select * from leaderboard union all by name select * from calibrated) as board
inner join measures as said using (benchmark, measure)
where not said.detail
order by board.benchmark, board.condition, board.source, board.model, board.measure
