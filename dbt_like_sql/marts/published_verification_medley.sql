-- One row: one group of claims: how many of their consensus three judges confirmed, as table S9 of the MEDLEY-BENCH paper
-- prints it. Its parts do not add up: see published_checks_medley.
-- Key: category.
-- Source: stg_published_medley_s9 (arXiv:2604.16009).
-- #UNIQUE(category)
-- #NOT_NULL(category, claims, agree, disagree)
-- columns:
--   category: all, normal, known_answer, or a domain (said to be of normal cases only, but with the claims of all)
--   agree_pct: as printed, in whole percent
select
    category,
    claims,
    agree,
    disagree,
    agree_pct
from stg_published_medley_s9
order by category
