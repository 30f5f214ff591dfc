-- One row: how far the judges agree on one dimension: all of them (Krippendorff's alpha, Fleiss' kappa) or two (Cohen's).
-- Key: dataset, source, reading, measure, dimension, a, b.
-- Source: estimates/medley/agreement.
-- Reads: stg_medley_agreement = estimates/medley/agreement/*.parquet (
--   benchmark varchar, dataset varchar, source varchar, reading varchar, measure varchar, dimension varchar, a varchar,
--   b varchar, estimate double, low double, high double, n bigint, method varchar, status varchar)
-- Part of: judge_agreement.
select * from stg_medley_agreement
