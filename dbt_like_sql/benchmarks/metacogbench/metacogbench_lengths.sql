-- One row: one listed model's pass rate among replies of about the same length, or over all replies and at matched length.
-- Key: dataset, condition, model, measure, words.
-- Source: estimates/metacogbench/lengths.
-- Reads: stg_metacogbench_lengths = estimates/metacogbench/lengths/*.parquet (
--   benchmark varchar, dataset varchar, condition varchar, model varchar, measure varchar, words varchar,
--   words_from double, words_to double, mean_words double, mean_keywords double, rate double, matched double, low double,
--   high double, n bigint, status varchar, source varchar)
-- #NOT_NULL(dataset, condition, model, measure, words, n, status)
-- #SET{measure: t2a|t2a_keywords|t2b|t2b_keywords}
-- #SET{words: 1|2|3|4|all}
-- #SET{source: measured|simulated}
-- columns:
--   mean_words: mean number of words of the replies
--   words: all, or a quarter of all models' replies by their number of words, 1 the shortest
--   words_from: least number of words of the group
--   words_to: largest
--   mean_keywords: mean number of keywords of caution (2a)
--   rate: share passed, 0 to 1
--   matched: of rows all: the rates of the groups, weighted alike for every model
--   low: lower end of the 95 % interval of matched; items are resampled
--   high: upper end
--   n: replies
--   status: ok, or why nothing is matched
select
    found.benchmark,
    found.dataset,
    found.condition,
    found.model,
    found.measure,
    found.words,
    found.words_from,
    found.words_to,
    found.mean_words,
    found.mean_keywords,
    found.rate,
    found.matched,
    found.low,
    found.high,
    found.n,
    found.status,
    listed.source
from stg_metacogbench_lengths as found
inner join listed using (model)
semi join asked on asked.benchmark = found.benchmark and asked.dataset = found.dataset
order by benchmark, dataset, condition, measure, model, words
