-- One row: one number the MetaCog-Bench paper prints of a model, in the units and names of the board.
-- Key: dataset, condition, model, measure.
-- Source: stg_published_metacogbench_3, stg_published_metacogbench_5, stg_published_metacogbench_7.
-- #UNIQUE(dataset, condition, model, measure)
-- #NOT_NULL(place, dataset, condition, model, measure, value)
-- #SET{place: table 3|table 5|table 7}
-- #SET{dataset: metacog41|metacog147}
-- columns:
--   place: where in the paper
--   dataset: the set of the same shape; the paper's tasks are not public and are others
--   value: 0 to 1
--   sd: standard deviation over three runs, null for one run
--   n: tasks the value rests on
with
    first_set as (
        select
            model,
            t1a_k / t1a_n as t1a,
            1 - ece_pre as t1b,
            ece_pre,
            t2a_k / t2a_n as t2a,
            t2b_k / t2b_n as t2b,
            t3_k / t3_n as t3,
            ms,
            saf,
            cdtc,
            overall
        from stg_published_metacogbench_3
    ),
    scaled as (
        unpivot (
            select
                model,
                t1a_pct_mean / 100 as t1a,
                1 - ece_pre_mean as t1b,
                ece_pre_mean as ece_pre,
                t2a_pct_mean / 100 as t2a,
                t2b_pct_mean / 100 as t2b,
                t3_pct_mean / 100 as t3,
                ms_mean as ms,
                saf_mean as saf,
                cdtc_mean as cdtc,
                overall_mean as overall
            from stg_published_metacogbench_7
        )
        on t1a, t1b, ece_pre, t2a, t2b, t3, ms, saf, cdtc, overall
        into name measure value value
    ),
    spreads as (
        unpivot (
            select
                model,
                t1a_pct_std / 100 as t1a,
                ece_pre_std as t1b,
                ece_pre_std as ece_pre,
                t2a_pct_std / 100 as t2a,
                t2b_pct_std / 100 as t2b,
                t3_pct_std / 100 as t3,
                ms_std as ms,
                saf_std as saf,
                cdtc_std as cdtc,
                overall_std as overall
            from stg_published_metacogbench_7
        )
        on t1a, t1b, ece_pre, t2a, t2b, t3, ms, saf, cdtc, overall
        into name measure value sd
    ),
    groups as (
        unpivot (
            select
                model,
                difficulty,
                n_items,
                pre_pct / 100 as mean_pre,
                post_pct / 100 as mean_post,
                accuracy_pct / 100 as accuracy_1b
            from stg_published_metacogbench_5
        )
        on mean_pre, mean_post, accuracy_1b
        into name measure value value
    ),
    sizes as (
        select
            unnest(['t1a', 't1b', 'ece_pre', 't2a', 't2b', 't3', 'ms', 'saf', 'cdtc', 'overall']) as measure,
            unnest([13, 14, 14, 5, 5, 4, 27, 10, 4, 41]) as n_first,
            unnest([33, 34, 34, 30, 30, 20, 67, 60, 20, 147]) as n_scaled
    )
select
    'table 3' as place, 'metacog41' as dataset, 'free' as condition, model, measure, value, null::double as sd,
    n_first::bigint as n
from (
    unpivot first_set on t1a, t1b, ece_pre, t2a, t2b, t3, ms, saf, cdtc, overall into name measure value value
)
inner join sizes using (measure)
union all
select 'table 5', 'metacog41', 'free', model, measure || '_' || difficulty, value, null, n_items
from groups
union all
select 'table 7', 'metacog147', 'free', scaled.model, scaled.measure, scaled.value, spreads.sd, sizes.n_scaled
from scaled
inner join spreads using (model, measure)
inner join sizes using (measure)
order by dataset, condition, model, measure
