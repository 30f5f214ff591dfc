-- A question about a model, pair or condition is answered by one test: no two primary rows of a question are about the same.
select
    benchmark, question, dataset, task, condition, scoring, model, source, a, b,
    string_agg(family || ' ' || measure, ', ') as tests
from comparisons
where "primary"
group by all
having count(*) > 1
