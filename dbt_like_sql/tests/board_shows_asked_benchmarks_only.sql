-- A benchmark the study no longer asks leaves the board.
select distinct benchmark
from board
where benchmark not in (select benchmark from int_benchmarks)
