-- One row: one rule that an instrument of a benchmark is held to: how a policy does on the study's items that does not read
-- the question, or a fault that is known.
-- Key: benchmark, instrument, rule, policy.
-- Source: estimates/*/instruments/instruments.parquet.
-- #NOT_NULL(benchmark, instrument, rule, red)
-- columns:
--   instrument: what is scored together: a kind of choice, a measure, a test, two conditions
--   rule: blind policy; of check_benchmark: known observers, contrary words, one content one score, one basis, left out, hit rate alone
--   policy: what answers without reading the question; null of other rules
--   value: its score
--   chance: that of a guess among the options
--   high: upper end of the 95 % interval of chance, of all policies of the instrument together
--   n: items
--   red: whether the rule does not hold: the policy does better than chance
--   reason: what is wrong; null of policies
select found.*
from stg_instruments as found
order by all
