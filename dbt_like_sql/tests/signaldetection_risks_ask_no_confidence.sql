-- No confidence is read in a condition that asks for none.
select task, condition, model, run, confidence, n
from int_signaldetection_cells
where condition <> 'confidence' and confidence is not null
