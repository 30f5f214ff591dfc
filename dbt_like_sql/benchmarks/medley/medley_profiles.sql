-- One row: one model by one way of scoring, or one printed in the paper: what an inverted consensus and weak analysts do to
-- its MMS, what it behaves like, and which of its abilities are strong beside its own level.
-- Key: dataset, scoring, model, source.
-- Source: estimates/medley/profiles.
-- Reads: stg_medley_profiles = estimates/medley/profiles/*.parquet (
--   dataset varchar, scoring varchar, model varchar, source varchar, adversarial_delta double, adversarial_low double,
--   adversarial_high double, stripped_delta double, stripped_low double, stripped_high double, crowd_pull double,
--   argument_pull double, quadrant varchar, profile varchar, character varchar, monitoring double, control double,
--   evaluation double, self_regulation double, dominant varchar, dominant_share double, place varchar)
-- #NOT_NULL(model, source)
-- #SET{source: measured|published|simulated}
-- #SET{dominant: monitoring|control|evaluation|self_regulation}
-- columns:
--   adversarial_*: ends of its 95 % interval
--   stripped_*: ends of its 95 % interval
--   control: as monitoring
--   evaluation: as monitoring
--   self_regulation: as monitoring
--   scoring: how it was scored; null for printed rows
--   adversarial_delta: MMS with an inverted consensus minus MMS of the same instances without, -1 to 1. MMS is scored
--     otherwise there: one that changes nothing gains as well, so that its sign alone says little
--   stripped_delta: MMS with the two weakest analysts minus MMS of the same instances with all
--   crowd_pull: share of the claims rated otherwise because the consensus was inverted, arguments being the same
--   argument_pull: share rated otherwise because the stronger analysts were left out
--   quadrant: signs of both changes
--   profile: by a rule that gives ten of the eleven labels of the paper from the printed changes; published rows: as printed
--   character: argument-follower, crowd-follower, stubborn, hedger, random or silent, by what it changes
--   monitoring: the ability minus the mean of the model's own judged dimensions, -1 to 1, as the three others
--   dominant: the ability that is largest in most instances; null where that is not known
--   dominant_share: share of these instances
--   place: of printed abilities: table S10, or table 1, to whose abilities its rule is applied
select profile.*
from stg_medley_profiles as profile
semi join asked on asked.benchmark = 'medley' and asked.dataset = profile.dataset
order by source, scoring, model
