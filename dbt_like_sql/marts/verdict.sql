-- One row: one question about metacognition, answered for one model by one benchmark under one condition. The report, the
-- commands and the UI show these rows and compute nothing of their own.
-- Key: question, benchmark, condition, model, source.
-- Source: scores, comparisons, what the benchmarks declare to be asked.
-- #NOT_NULL(question, benchmark, measure, condition, model, source, shown, status, verdict)
-- #SET{question: knows|calibrated|unanswerable|judgement}
-- #SET{verdict: best|worse|not separated|not tested|no value}
-- columns:
--   question: knows (does confidence separate right from wrong answers), calibrated (does confidence equal the share of right
--     answers), unanswerable (is it noticed that a question cannot be answered), judgement (is a judgement kept or changed
--     for good reasons)
--   measure: what answers the question in this benchmark
--   shown: whether the condition is the one that represents the benchmark: its headline condition where it has the measure
--   n_better: models that the primary paired test finds better in this benchmark and condition
--   best: the model the others are compared with: the first by n_better, then by estimate
--   verdict: best; worse (the paired test finds the best model better), not separated (it does not), not tested, no value
--   difference: the model's value minus that of the best model, on the items both answered
--   difference_low: lower end of its interval at the level of the family of tests
--   difference_high: upper end
--   p: of that test, corrected over its family
--   n_shared: items the test rests on
--   test_status: ok, or why there is no test
with
    cells as (
        select
            asked.question, asked.benchmark, asked.measure, score.condition, score.model, score.source, score.estimate,
            score.low, score.high, score.n, score.coverage, score.low_n, score.status
        from stg_questions as asked
        inner join scores as score using (benchmark, measure)
        where score.source in ('measured', 'simulated')
    ),
    tested as (
        select
            question, benchmark, measure, source, concat_ws(' ', task, condition) as condition, a as model, b as other,
            value, low_adjusted as low, high_adjusted as high, p_adjusted as p, verdict, n, status
        from comparisons
        where question is not null and model is null
    ),
    tests as (
        select * from tested
        union all by name
        select
            * replace (other as model, model as other, -value as value, -high as low, -low as high)
        from tested
    ),
    better as (
        select question, benchmark, condition, source, tests.model, count(*) as n_better
        from tests
        inner join measures as said using (benchmark, measure)
        where verdict = 'significant' and (value < 0) = said.higher_is_better
        group by all
    ),
    ranked as (
        select
            cells.*,
            if(cells.estimate is null, null, coalesce(better.n_better, 0)) as n_better,
            if(said.higher_is_better, -1, 1) * round(cells.estimate, 9) as compared,
            dense_rank() over (
                partition by cells.question, cells.benchmark
                order by (cells.condition = headline.headline_condition) desc nulls last, cells.condition
            ) = 1 as shown
        from cells
        left join better using (question, benchmark, condition, source, model)
        left join measures as said on said.benchmark = cells.benchmark and said.measure = cells.measure
        left join measures as headline on headline.benchmark = cells.benchmark and headline.headline
    ),
    led as (
        select
            *,
            if(estimate is null, null, first_value(if(estimate is null, null, model) ignore nulls) over (
                partition by question, benchmark, condition, source
                order by n_better nulls last, compared nulls last, model
                rows between unbounded preceding and unbounded following
            )) as best
        from ranked
    )
select
    led.question,
    led.benchmark,
    led.measure,
    led.condition,
    led.shown,
    led.model,
    led.source,
    led.estimate,
    led.low,
    led.high,
    led.n,
    led.coverage,
    led.low_n,
    led.status,
    led.n_better,
    led.best,
    case
        when led.estimate is null then 'no value'
        when led.model = led.best then 'best'
        when tests.verdict is null then 'not tested'
        when tests.verdict = 'significant' then 'worse'
        else 'not separated'
    end as verdict,
    tests.value as difference,
    tests.low as difference_low,
    tests.high as difference_high,
    tests.p,
    tests.n as n_shared,
    tests.status as test_status
from led
left join tests
    on tests.question = led.question and tests.benchmark = led.benchmark and tests.condition = led.condition
    and tests.source = led.source and tests.model = led.model and tests.other = led.best
order by
    list_position(['knows', 'calibrated', 'unanswerable', 'judgement'], led.question), led.benchmark, led.condition,
    led.source, led.n_better nulls last, led.compared nulls last, led.model
