-- One row: one agreement of rankings the MEDLEY-BENCH paper prints, by the names of medley_comparisons.
-- Key: family, a, b.
-- Source: stg_published_medley_s5, stg_published_medley_s6, stg_published_medley_s8 (arXiv:2604.16009).
-- #UNIQUE(family, a, b)
-- #NOT_NULL(place, family, a, value)
-- #SET{family: cross_domain|leave_one_domain_out|aggregation}
-- columns:
--   place: where in the paper
--   value: Spearman's ρ over 35 models, as printed
--   statistic: largest shift of a rank, where printed
--   spread_change: of best minus worst, in points of MMS, where printed
select 'table S5' as place, 'cross_domain' as family, a, b, rho as value, null::double as statistic, null::double as spread_change
from stg_published_medley_s5
union all
select 'table S6', 'leave_one_domain_out', domain_removed, null, rho, max_rank_shift, spread_change
from stg_published_medley_s6
union all
select 'table S8', 'aggregation', a, b, rho, null, null
from stg_published_medley_s8
order by place, a, b
