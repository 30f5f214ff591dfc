-- Every printed row of the ESMA paper has its d′, alignment and accuracy, and none is a percentage still.
select dataset, condition, model, count(*) as measures
from published_values
where benchmark = 'selfknowledge' and measure in ('d_type2_reference', 'raw_alignment', 'accuracy')
group by all
having count(*) <> 3 or max(value) > 4
