-- One row: one printed number of the MetaCog-Bench paper beside what the numbers printed with it allow. Replies are not
-- published, so this is arithmetic on the tables, not a second scoring.
-- Key: place, subject, quantity, method.
-- Source: stg_metacogbench_published_audit.
-- #UNIQUE(place, subject, quantity, method)
-- #NOT_NULL(place, subject, quantity, method, published, recomputed, verdict)
-- #SET{verdict: follows|differs}
-- columns:
--   place: where in the paper
--   subject: a model or a category
--   method: what it was computed from
--   published: as printed
--   recomputed: from the parts; where only a range is possible, its end nearest to the printed number
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
from stg_metacogbench_published_audit
order by place, quantity, method, subject
