-- One row: one gate a set of MEDLEY instances must pass to be released, and what was found.
-- Key: dataset, name.
-- Source: stg_medley_gates, int_medley_question_sets.
-- #UNIQUE(dataset, name)
-- #NOT_NULL(dataset, name, rule, severity, status, found, wanted)
-- #SET{severity: blocks|warns|informs}
-- #SET{status: passed|failed|not_evaluated}
-- columns:
--   name: G1 to G15 of the published design, X1 to X7 of this project
--   severity: a gate that blocks keeps a set from being released unless it is passed
--   status: not_evaluated where what it needs is not there; found says why
select found.*
from stg_medley_gates as found
inner join int_medley_question_sets as asked using (dataset)
order by dataset, place
