-- One row: one pair of stated risks of one model and task: how far a measure moved between them, and what that amounts to.
-- Predicted of c: lowest under risk_s1 (wrongly saying 0 is punished), then risk_none, then risk_s2.
-- Key: dataset, source, task, model, measure, a, b.
-- Source: comparisons.
-- #NOT_NULL(dataset, source, task, model, measure, a, b)
-- #SET{source: measured|published|simulated}
-- #SET{a: risk_none|risk_s1|risk_s2}
-- #SET{b: risk_none|risk_s1|risk_s2}
-- #SET{verdict: not_significant|significant|negligible|inconclusive}
-- #SET{paired_verdict: not_significant|significant|negligible|inconclusive}
-- columns:
--   paired_p: p value of the paired test
--   paired_verdict: as verdict
--   paired_status: ok, or why there is no paired test
--   n: trials the test rests on
--   measure: c, d or c_prime
--   source: measured, simulated, or published (made from the published counts, whose items are not known: no paired test)
--   a: the condition whose c is predicted to be higher
--   b: the other
--   difference: value under a - value under b
--   se: its standard error, the two conditions taken as independent
--   z: difference / se
--   p_adjusted: Bonferroni over the family of pairs
--   low: lower end of the 95 % interval
--   high: upper end
--   low_adjusted: lower end of the interval at the family's level
--   high_adjusted: upper end; the verdict rests on this interval
--   verdict: not_significant; significant (and outside the region of no practical importance); negligible (inside it);
--     inconclusive (across its edge); null without a number, status says why
--   as_predicted: whether c moved in the direction the stated risks ask for, significantly or not; null for other measures
--   paired_difference: the same difference over the items answered under both, with the items as the unit of chance
--   paired_low: lower end of its 95 % interval
--   paired_high: upper end
--   paired_low_adjusted: lower end of the interval at the level of its family; the paired verdict rests on it
--   paired_high_adjusted: upper end
--   paired_p_adjusted: over its own family
--   paired_n: items answered under both
--   note: for c_prime whether it is worth a look, which it is where d′ moved too
--   status: ok, or why there is no test
with
    tests as (select *, value as difference from comparisons where benchmark = 'signaldetection'),
    independent as (select * from tests where family = 'criterion_z'),
    paired as (select * from tests where family = 'criterion_paired')
select
    independent.dataset,
    independent.source,
    independent.task,
    independent.model,
    independent.measure,
    independent.a,
    independent.b,
    independent.difference,
    independent.se,
    independent.statistic as z,
    independent.p,
    independent.p_adjusted,
    independent.low,
    independent.high,
    independent.low_adjusted,
    independent.high_adjusted,
    independent.verdict,
    if(independent.measure = 'c', independent.difference > 0, null) as as_predicted,
    independent.n,
    paired.difference as paired_difference,
    paired.low as paired_low,
    paired.high as paired_high,
    paired.low_adjusted as paired_low_adjusted,
    paired.high_adjusted as paired_high_adjusted,
    paired.p as paired_p,
    paired.p_adjusted as paired_p_adjusted,
    paired.verdict as paired_verdict,
    paired.n as paired_n,
    paired.status as paired_status,
    independent.note,
    independent.status
from independent
left join paired using (dataset, source, task, model, measure, a, b)
order by dataset, source, task, model, measure, a, b
