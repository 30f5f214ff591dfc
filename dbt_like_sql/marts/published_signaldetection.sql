-- One row: one number the paper "Measuring the metacognition of AI" states, in the units and names of the board.
-- Key: task, condition, model, measure.
-- Source: stg_published_signaldetection_s1, _s2, _counts, _criterion_counts, _notes (arXiv:2603.29693).
-- #UNIQUE(task, condition, model, measure)
-- #NOT_NULL(place, task, condition, model, measure, value)
-- #SET{place: table S1|table S2}
-- columns:
--   place: where in the paper
--   measure: d_bayes, meta_d_bayes, m_ratio_bayes (posterior means), c (from the raw rates)
--   value: as printed
--   low: value - the printed 95 % half width; null where none is printed
--   high: value + the same
--   half_width: as printed
--   n: trials behind the number
--   note: what to know before quoting it
with
    stated as (
        select 'table S1' as place, task, 'confidence' as condition, model, 'd' as quantity, dprime as value, null as half_width
        from stg_published_signaldetection_s1
        union all
        select 'table S1', task, 'confidence', model, 'meta_d', meta_d, null from stg_published_signaldetection_s1
        union all
        select 'table S1', task, 'confidence', model, 'm_ratio', m_ratio, null from stg_published_signaldetection_s1
        union all
        select 'table S2', task, condition, model, 'c', c, ci_half from stg_published_signaldetection_s2
    ),
    trials as (
        select task, 'confidence' as condition, model, n_s1 + n_s2 as n from stg_published_signaldetection_counts
        union all
        select task, condition, model, total from stg_published_signaldetection_criterion_counts
    )
select
    stated.place,
    stated.task,
    stated.condition,
    stated.model,
    if(stated.place = 'table S1', stated.quantity || '_bayes', stated.quantity) as measure,
    stated.value,
    round(stated.value - stated.half_width, 6) as low,
    round(stated.value + stated.half_width, 6) as high,
    stated.half_width,
    trials.n,
    notes.note
from stated
left join trials using (task, condition, model)
left join stg_published_signaldetection_notes as notes
    on notes.place = stated.place and notes.task = stated.task and notes.model = stated.model
        and notes.condition = stated.condition and notes.measure = stated.quantity
order by stated.place, stated.task, stated.model, stated.condition, measure
