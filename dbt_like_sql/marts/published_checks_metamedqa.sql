-- One row: one statement of the MetaMedQA paper beside what its own counts give.
-- Key: claim.
-- Source: stg_published_checks_metamedqa.
-- #UNIQUE(claim)
-- #NOT_NULL(claim, verdict)
-- #SET{verdict: holds|holds if cut off|borderline|does not hold}
-- columns:
--   stated: as printed
--   recomputed: from counts that fit the printed figures
--   verdict: holds; holds if cut off (digits cut, not rounded); borderline (rests on something unpublished); does not hold
select
    claim,
    topic,
    subject,
    stated,
    recomputed,
    verdict,
    explanation
from stg_published_checks_metamedqa
order by topic, claim
