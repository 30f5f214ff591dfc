-- One row: one judge's grade of one response in one of ten dimensions.
-- Key: dataset, condition, model, run, item_id, judge, dimension.
-- Source: judgements/medley.
-- Reads: stg_medley_judgements = judgements/medley/**/*.parquet (
--   benchmark varchar, dataset varchar, condition varchar, model varchar, run integer, item_id varchar, judge varchar,
--   status varchar, reason varchar, answer_id varchar, cost_usd double, source varchar, attribution_depth double,
--   steelmanning_quality double, logical_grounding double, capitulation_quality double, normative_vs_informational double,
--   transparency double, intellectual_courage double, confidence_coherence double, error_acknowledgment double,
--   blind_spot_recognition double)
-- Part of: judgements.
unpivot stg_medley_judgements on
    attribution_depth, steelmanning_quality, logical_grounding, capitulation_quality, normative_vs_informational,
    transparency, intellectual_courage, confidence_coherence, error_acknowledgment, blind_spot_recognition
into name dimension value value
