-- One row: one number the ESMA paper (arXiv:2602.02605) prints of a model, in the units and names of the board.
-- Key: dataset, condition, model, measure.
-- Source: stg_published_selfknowledge_1 to _7, stg_published_selfknowledge_figure_2, stg_selfknowledge_published_audit.
-- #UNIQUE(dataset, condition, model, measure)
-- #NOT_NULL(place, dataset, condition, model, measure, value)
-- columns:
--   place: where in the paper; a number printed in several tables stands once, with the first
--   measure: d_type2_reference is the d′ of the paper: published rules of reading, clipped rates
--   value: shares 0 to 1, d′ in standard deviations
--   n: questions of the part of the data set that was asked; null for shares of the yeses and noes
--   note: what to know before quoting it
with
    variants as (
        select
            unnest(['original', 'esma', 'sft', 'fictional_sft', 'fictional_sft_then_esma', 'direct', 'meta']) as variant,
            unnest([
                '', ' ESMA', ' SFT on yes and no', ' taught the facts', ' taught the facts, then ESMA', ' direct reward',
                ' meta reward'
            ]) as suffix
    ),
    sizes as (
        select
            unnest(['trivia_qa', 'freebase_qa', 'nq_open', 'web_questions', 'mkqa', 'fictional_qa']) as dataset,
            unnest([17944, 3996, 3610, 2032, 10000, 1797])::bigint as n
    ),
    dual as (
        select
            'table 1' as place, 'trivia_qa' as dataset, 'dual' as condition, model, variant, d_prime, raw_alignment_pct,
            accuracy_pct, yes_ratio_pct, yfr_pct, nfr_pct
        from stg_published_selfknowledge_1
        union all
        select
            'table 3', 'fictional_qa', 'dual', 'size not stated', variant, d_prime, raw_alignment_pct, accuracy_pct, null,
            null, null
        from stg_published_selfknowledge_3
        union all
        -- Its other two rows stand in table 1.
        select
            'table 4', 'trivia_qa', 'dual', 'Qwen2.5 1.5B', variant, d_prime, raw_alignment_pct, accuracy_pct, null, null,
            null
        from stg_published_selfknowledge_4
        where variant in ('direct', 'meta')
        union all
        select
            'table 5', 'trivia_qa', 'dual', model, variant, d_prime, raw_alignment_pct, accuracy_pct, yes_ratio_pct, yfr_pct,
            nfr_pct
        from stg_published_selfknowledge_5
        where variant = 'sft'
        union all
        select
            'table 6', dataset, 'dual', 'Qwen2.5 ' || size, variant, d_prime, raw_alignment_pct, accuracy_pct, null, null,
            null
        from stg_published_selfknowledge_6
        union all
        select
            'table 7', 'mkqa', replace(dataset, 'mkqa', 'dual'), 'size not stated', variant, d_prime, raw_alignment_pct,
            accuracy_pct, null, null, null
        from stg_published_selfknowledge_7
    ),
    dual_measures as (
        unpivot (
            select
                place,
                dataset,
                condition,
                model,
                variant,
                d_prime as d_type2_reference,
                round(raw_alignment_pct / 100, 6) as raw_alignment,
                round(accuracy_pct / 100, 6) as accuracy,
                round(yes_ratio_pct / 100, 6) as yes_ratio,
                round(yfr_pct / 100, 6) as yfr,
                round(nfr_pct / 100, 6) as nfr
            from dual
        )
        on d_type2_reference, raw_alignment, accuracy, yes_ratio, yfr, nfr
        into name measure value value
    ),
    idk_measures as (
        unpivot (
            select
                'table 2' as place,
                'trivia_qa' as dataset,
                'idk' as condition,
                model,
                variant,
                round(idk_accuracy_pct / 100, 6) as idk_accuracy,
                round(idk_alignment_pct / 100, 6) as idk_alignment,
                round(all_alignment_pct / 100, 6) as all_alignment
            from stg_published_selfknowledge_2
        )
        on idk_accuracy, idk_alignment, all_alignment
        into name measure value value
    ),
    areas as (
        unpivot (
            select 'Qwen2.5 ' || size as model, original_auc as original, esma_auc as esma
            from stg_published_selfknowledge_figure_2
        )
        on original, esma
        into name variant value value
    ),
    stated as (
        select * from dual_measures
        union all
        select * from idk_measures
        union all
        select 'figure 2', 'trivia_qa', 'dual', model, variant, 'auroc2', value from areas
    )
select
    stated.place,
    stated.dataset,
    stated.condition,
    stated.model || variants.suffix as model,
    stated.measure,
    stated.value,
    if(stated.measure in ('yfr', 'nfr'), null, sizes.n) as n,
    audit.note
from stated
inner join variants using (variant)
inner join sizes using (dataset)
left join stg_selfknowledge_published_audit as audit
    on audit.place = stated.place and audit.subject = stated.model || variants.suffix
        and stated.measure = 'd_type2_reference' and audit.quantity = 'd_prime' and audit.note like 'one set of%'
order by stated.dataset, stated.condition, model, stated.measure
