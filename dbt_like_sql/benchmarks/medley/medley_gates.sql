-- One row: one gate a set of MEDLEY instances must pass to be released, and what was found.
-- Key: dataset, name.
-- Source: estimates/medley/gates.
-- Reads: stg_medley_gates = estimates/medley/gates/*.parquet (
--   benchmark varchar, dataset varchar, place bigint, name varchar, rule varchar, severity varchar, status varchar,
--   found varchar, wanted varchar)
-- #NOT_NULL(dataset, name, rule, severity, status, found, wanted)
-- #SET{severity: blocks|warns}
-- #SET{status: passed|failed}
-- columns:
--   place: in the order of the gates
--   name: G1 to G14 of the published design, X1 to X8 of this project
--   rule: what must hold
--   severity: a gate that blocks keeps a set from being released unless it is passed
--   found: the value found
--   wanted: the value it must have
select gate.*
from stg_medley_gates as gate
semi join asked on asked.benchmark = gate.benchmark and asked.dataset = gate.dataset
order by dataset, place
