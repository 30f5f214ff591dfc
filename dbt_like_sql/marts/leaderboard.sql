-- One row: one measure of one model under one condition: every model the study lists, and the published ones.
-- A listed model without a single answer is named by its coverage of 0. Published rows are there only with answers of
-- models to the published questions, not with simulated observers alone.
-- Key: benchmark, condition, model, measure, source.
-- Source: estimates, published_values, measures, study/partitions.parquet, study/boards.parquet.
-- #NOT_NULL(benchmark, condition, model, measure, source, headline, status)
-- #SET{source: measured|published|simulated}
-- columns:
--   estimate: null when there is no value, and when its interval is unbounded: no order by estimate puts such a number first
--   n: answers the value rests on, null where the paper does not say
--   n_failed: items without an answer, null for published rows
--   n_unreadable: items whose answer could not be read, null for published rows
--   coverage: valid answers / items, 0 to 1, null for published rows
--   method: how value and interval were made; of a published row its place in the paper, and whether the prompts are reworded here
--   status: of the estimate: ok, what the run lacks, or why there is no number or no interval
--   rank: 1 is best, of measured and published models together, of simulated observers separately; null without a value or
--     interval that can be ranked, and where neither end is better
--   percentile: of headlines: share of the other models below it, 0 to 100, ties half; of measured and published models for
--     these, of simulated observers for one of them; null where there is no other
with
    conditions as (
        select distinct benchmark, condition from estimates
        union
        select benchmark, condition from stg_boards where benchmark not in (select benchmark from estimates)
        union
        select benchmark, 'not answered yet' from asked_benchmarks
        where benchmark not in (select benchmark from estimates) and benchmark not in (select benchmark from stg_boards)
    ),
    failures as (select benchmark, model, sum(n_failed)::bigint as n_failed from stg_partitions group by all),
    unanswered as (
        select
            benchmark, condition, listed.model, 'coverage' as measure, 0.0 as estimate, null::double as low,
            null::double as high, 0 as n, coalesce(failures.n_failed, 0) as n_failed, 0 as n_unreadable, 0.0 as coverage,
            'readable / asked' as method, 'count' as status, listed.source
        from listed
        cross join conditions
        left join failures using (benchmark, model)
        where benchmark in (select benchmark from asked_benchmarks) and not exists (
            select 1 from estimates as est
            where est.benchmark = conditions.benchmark and est.condition = conditions.condition
                and est.model = listed.model and est.measure = 'coverage'
        )
    ),
    printed as (
        select
            said.benchmark,
            coalesce(said.condition, '') as condition,
            said.model,
            said.measure,
            said.value as estimate,
            if(said.unit = 'percent' and said.low < 0, 0, said.low) as low,
            if(said.unit = 'percent' and said.high > 1, 1, said.high) as high,
            said.n,
            concat_ws('; ', concat_ws(' ', 'printed in', said.place), nullif(regexp_extract(said.note, 'prompts reworded here'), ''))
                as method,
            if(said.value is null, 'the paper has no number here', 'ok') as status,
            said.place
        from published_values as said
        where said.model is not null and (said.value is not null or said.unit is not null)
            and (said.benchmark, said.dataset) in (select (benchmark, dataset) from asked)
            and not exists (select 1 from listed having count(*) = count_if(source = 'simulated') and count(*) > 0)
        -- The same number may be printed in several places: the one with an interval is the fuller.
        qualify row_number() over (
            partition by said.benchmark, said.condition, said.model, said.measure
            order by low is null, said.n is null, said.place
        ) = 1
    ),
    whole as (
        select
            benchmark, condition, model, measure, estimate, low, high, n, n_failed, n_unreadable, coverage, method,
            status, low_n, source
        from estimates
        union all by name
        select * from unanswered
        union all by name
        select * exclude (place), 'published' as source from printed
    ),
    flagged as (
        select
            whole.*,
            said.higher_is_better,
            coalesce(said.headline and said.headline_condition = whole.condition, false) as headline,
            status in ('ok', 'count') or starts_with(status, 'incomplete') as plain,
            -- The reason against a ratio is its denominator; without an interval all of an open range is possible.
            estimate is not null and not plain and (
                coalesce(said.unit, 'ratio') = 'ratio' or (low is null and (said.min is null or said.max is null))
            ) as unbounded
        from whole
        left join measures as said using (benchmark, measure)
    ),
    shown as (
        select
            * replace (
                if(unbounded, null, estimate) as estimate,
                if(unbounded, null, low) as low,
                if(unbounded, null, high) as high,
                if(unbounded and not contains(status, 'unbounded'), 'undefined or unbounded: ' || status, status) as status
            ),
            estimate is not null and not unbounded and (plain or low is not null) as ranked,
            -- Numbers that differ by rounding alone, which hangs on the version of a library, share a rank.
            round(if(unbounded, null, estimate), 9) as compared,
            source = 'simulated' as observer
        from flagged
    ),
    placed as (
        select
            own.benchmark,
            own.model,
            own.source,
            100.0 * avg((other.compared < own.compared)::int + 0.5 * (other.compared = own.compared)::int) as percentile
        from shown as own
        inner join shown as other
            on other.benchmark = own.benchmark and other.observer = own.observer and other.model <> own.model
        where own.headline and other.headline and own.ranked and other.ranked
        group by all
    )
select
    shown.benchmark,
    shown.condition,
    shown.model,
    shown.measure,
    shown.estimate,
    shown.low,
    shown.high,
    shown.n,
    shown.n_failed,
    shown.n_unreadable,
    shown.coverage,
    shown.method,
    shown.status,
    shown.low_n,
    shown.source,
    shown.headline,
    shown.higher_is_better,
    if(
        shown.ranked and shown.higher_is_better is not null,
        rank() over (
            partition by shown.benchmark, shown.condition, shown.measure, shown.observer, shown.ranked
            order by if(shown.higher_is_better, -shown.compared, shown.compared)
        ),
        null
    ) as rank,
    if(shown.headline and shown.ranked, placed.percentile, null) as percentile
from shown
left join placed using (benchmark, model, source)
order by shown.benchmark, shown.condition, shown.source, shown.model, shown.measure
