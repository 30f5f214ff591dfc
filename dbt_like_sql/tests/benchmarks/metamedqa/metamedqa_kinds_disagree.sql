-- The accuracies by kind and key are those of all questions, divided.
select kinds.condition, kinds.model, sum(kinds.n_correct) / sum(kinds.n) as recounted, est.estimate
from metamedqa_kinds as kinds
inner join estimates as est using (dataset, condition, model, source)
where est.benchmark = 'metamedqa' and est.measure = 'accuracy' and est.estimate is not null
group by kinds.condition, kinds.model, est.estimate, est.n
having sum(kinds.n) = est.n and abs(recounted - est.estimate) > 1e-9
