-- One row: one printed number of the ESMA paper beside what the numbers printed with it allow. Answers are not published, so
-- this is arithmetic on the tables, not a second scoring.
-- Key: place, subject, quantity, method.
-- Source: stg_selfknowledge_published_audit.
-- #UNIQUE(place, subject, quantity, method)
-- #NOT_NULL(place, subject, quantity, method, published, recomputed, verdict)
-- #SET{verdict: follows|made by the clip|differs}
-- columns:
--   place: where in the paper
--   subject: a model, and what was done to it
--   method: what it was computed from
--   published: as printed
--   recomputed: from the parts; where only a range is possible, its end nearest to the printed number
--   difference: recomputed - published
--   tolerance: what rounding of the printed parts explains
--   verdict: follows; made by the clip: follows, but from a rate of 0 or 1 that the clip turns into a number; differs
--   note: which whole answers stand behind it, or what may explain a difference
select
    place,
    subject,
    quantity,
    method,
    published,
    recomputed,
    difference,
    tolerance,
    case when not follows then 'differs' when note like '%made by the clip' then 'made by the clip' else 'follows' end
        as verdict,
    note
from stg_selfknowledge_published_audit
order by place, quantity, method, subject
