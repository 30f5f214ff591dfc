-- One row: one number the MetaMedQA paper states, in the units of the board, with what marks it in the paper.
-- Key: place, model, condition, measure.
-- Source: stg_published_metamedqa, stg_published_significance_metamedqa (Griot et al., Nature Communications 16:642, 2025).
-- #UNIQUE(place, model, condition, measure)
-- #NOT_NULL(place, model, condition, measure)
-- columns:
--   place: where in the paper
--   value: shares 0 to 1, confidences 1 to 5; null when the paper says N/A
--   low: value - the printed half width (or 1.96 printed standard errors), not clipped, as the paper does
--   high: value + the same
--   sem: printed standard error, unit of value
--   n: questions behind the figure, where fixed
--   stated: as printed
--   unit: unit of stated
--   stars: mark of the difference from the baseline prompt
--   p_stated: p of that difference, where printed
with
    scaled as (
        select
            *,
            if(unit = 'percent', 0.01, 1.0) as scale,
            coalesce(half_width, 1.96 * sem) as half
        from stg_published_metamedqa
    )
select
    scaled.place,
    scaled.model,
    scaled.condition,
    scaled.measure,
    round(scaled.stated * scaled.scale, 6) as value,
    round((scaled.stated - scaled.half) * scaled.scale, 6) as low,
    round((scaled.stated + scaled.half) * scaled.scale, 6) as high,
    round(scaled.sem * scaled.scale, 6) as sem,
    scaled.n,
    scaled.stated,
    scaled.unit,
    marks.stars,
    marks.p_stated,
    scaled.note
from scaled
left join stg_published_significance_metamedqa as marks
    on scaled.place = 'table 4' and marks.condition = scaled.condition and marks.measure = scaled.measure
order by scaled.place, scaled.model, scaled.condition, scaled.measure
