-- One row: one printed number that can be recomputed, and what the counts or numbers printed with it give.
-- Key: benchmark, place, subject, quantity, method.
-- Source: estimates/*/published/published_claims.parquet, made of data/published and the audits.
-- #NOT_NULL(benchmark, place, subject, quantity, method, verdict)
-- columns:
--   place: where in the paper, or what sort of statement; headline: what the paper leads with
--   subject: a model, a group, or all models; of headline claims the data
--   method: what it was computed from
--   published: as printed; null where it is no number, the note has it then
--   recomputed: from the parts; where only a range is possible, its end nearest to the printed number
--   low: lower end of the recomputed number's 95 % interval
--   high: upper end
--   tolerance: the largest difference that rounding or sampling explains
--   expected: of headline claims (place headline): what chance or construction alone would give
--   verdict: follows or holds; differs or does not hold; not decided; by construction; made by the clip; not computed; another estimator; possible
--   note: what explains a difference, or what to know before quoting the number
select said.*
from stg_published_claims as said
order by all
