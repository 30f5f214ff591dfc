-- One row: one sign that what answers under one model name has changed: another model id reported by the provider, or other
-- answers to the same question at temperature 0 on another day.
-- Key: benchmark, model, sign, earlier, later.
-- Source: transcripts.
-- #NOT_NULL(benchmark, model, sign, n, flagged)
-- #SET{sign: reported id|answers at temperature 0}
-- columns:
--   earlier: the id reported before; the earlier day (UTC)
--   later: the id reported after; the later day (UTC)
--   since: when the later one was first seen
--   n: answers under the later id; questions answered on both days
--   changed: questions answered otherwise on the later day, null for a change of id
--   flagged: true for every change of id, and where the share changed between days is above the share that changes within
--     one day by more than chance (two standard errors) and by a twentieth
with
    answers as (
        select benchmark, model, at_zero as question, run, started_at, cast(started_at as date) as day, text_hash
        from calls
        where at_zero is not null
    ),
    reported as (
        select
            benchmark,
            model,
            model_reported,
            min(started_at) as since,
            count(*) as n
        from calls
        where model_reported is not null and status <> 'failed'
        group by benchmark, model, model_reported
    ),
    ids as (
        select
            benchmark,
            model,
            'reported id' as sign,
            lag(model_reported) over past as earlier,
            model_reported as later,
            since,
            n,
            null::bigint as changed,
            true as flagged
        from reported
        window past as (partition by benchmark, model order by since, model_reported)
        qualify earlier is not null
    ),
    pairs as (
        select
            one.benchmark,
            one.model,
            one.day as day_one,
            two.day as day_two,
            two.started_at,
            one.text_hash <> two.text_hash as differs
        from answers as one
        inner join answers as two
            on two.benchmark = one.benchmark
            and two.model = one.model
            and two.question = one.question
            and two.run <> one.run
            and (two.started_at, two.run) > (one.started_at, one.run)
    ),
    within_day as (
        select benchmark, model, avg(differs::int) as share
        from pairs
        where day_one = day_two
        group by benchmark, model
    ),
    days as (
        select
            pairs.benchmark,
            pairs.model,
            strftime(day_one, '%Y-%m-%d') as earlier,
            strftime(day_two, '%Y-%m-%d') as later,
            min(started_at) as since,
            count(*) as n,
            count_if(differs) as changed,
            coalesce(any_value(within_day.share), 0.0) as usual
        from pairs
        left join within_day using (benchmark, model)
        where day_one <> day_two
        group by pairs.benchmark, pairs.model, day_one, day_two
    )
select benchmark, model, sign, earlier, later, since, n, changed, flagged
from ids
union all
select
    benchmark,
    model,
    'answers at temperature 0',
    earlier,
    later,
    since,
    n,
    changed,
    changed / n - usual > greatest(0.05, 2 * sqrt(usual * (1 - usual) / n))
from days
order by benchmark, model, sign, since
