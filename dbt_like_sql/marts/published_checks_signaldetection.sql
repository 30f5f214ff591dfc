-- One row: one number the paper "Measuring the metacognition of AI" prints beside what its own counts give.
-- Key: task, condition, model, quantity.
-- Source: published_signaldetection, stg_signaldetection_refit_metad, stg_signaldetection_refit_criteria.
-- #UNIQUE(task, condition, model, quantity)
-- #NOT_NULL(place, task, condition, model, quantity, published, verdict)
-- #SET{quantity: d|meta_d|m_ratio|c|ci_half}
-- #SET{verdict: reproduced|differs|not computed}
-- columns:
--   place: where in the paper
--   quantity: d, meta_d, m_ratio (posterior means), c, ci_half (half width of the 95 % interval of c)
--   published: as printed
--   recomputed: by the method of the paper from the published counts; null until it was computed, or without a value
--   low: lower end of the recomputed value's 95 % interval
--   high: upper end
--   difference: recomputed - published
--   tolerance: largest difference that counts as reproduced: what two samplers, or two ways of rounding, differ by
--   ml_raw: the same quantity by maximum likelihood
--   ml_padded: the same on counts + 1/(2 K)
--   verdict: reproduced, differs, or not computed
--   note: what explains a difference, or what to know before quoting the number
with
    printed as (
        select
            place, task, condition, model, replace(measure, '_bayes', '') as quantity, value as published, note
        from published_signaldetection
        union all
        select place, task, condition, model, 'ci_half', half_width, null
        from published_signaldetection
        where half_width is not null
    ),
    computed as (
        select 'confidence' as condition, * exclude (method) from stg_signaldetection_refit_metad where method = 'bayes'
        union all by name
        select * from stg_signaldetection_refit_criteria
    ),
    likeliest as (
        select
            'confidence' as condition,
            task,
            model,
            quantity,
            any_value(recomputed) filter (where method = 'ml_raw') as ml_raw,
            any_value(recomputed) filter (where method = 'ml_padded') as ml_padded
        from stg_signaldetection_refit_metad
        group by all
    )
select
    printed.place,
    printed.task,
    printed.condition,
    printed.model,
    printed.quantity,
    printed.published,
    computed.recomputed,
    computed.low,
    computed.high,
    computed.recomputed - printed.published as difference,
    computed.tolerance,
    likeliest.ml_raw,
    likeliest.ml_padded,
    case
        when computed.recomputed is null then 'not computed'
        when abs(computed.recomputed - printed.published) <= computed.tolerance then 'reproduced'
        else 'differs'
    end as verdict,
    coalesce(computed.note, printed.note) as note
from printed
left join computed using (task, condition, model, quantity)
left join likeliest using (task, condition, model, quantity)
order by place, task, model, condition, quantity
