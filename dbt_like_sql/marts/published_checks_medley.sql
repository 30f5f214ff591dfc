-- One row: one printed number of the MEDLEY-BENCH paper beside what the numbers printed with it give. Results of single
-- instances are not published, so this is arithmetic on the tables, not a second scoring.
-- Key: place, subject, quantity, method.
-- Source: stg_medley_published_audit.
-- #UNIQUE(place, subject, quantity, method)
-- #NOT_NULL(place, subject, quantity, method, published, recomputed, verdict)
-- #SET{verdict: follows|differs}
-- columns:
--   place: where in the paper
--   subject: a model, a group of claims, or all models
--   method: what it was computed from; where two methods stand for a number, the paper and its package have two rules
--   published: as printed, in points or counts
--   difference: recomputed - published
--   tolerance: what rounding of the printed parts explains
--   verdict: follows or differs
--   note: what may explain a difference
select
    place,
    subject,
    quantity,
    method,
    published,
    recomputed,
    difference,
    tolerance,
    if(follows, 'follows', 'differs') as verdict,
    note
from stg_medley_published_audit
order by place, quantity, method, subject
