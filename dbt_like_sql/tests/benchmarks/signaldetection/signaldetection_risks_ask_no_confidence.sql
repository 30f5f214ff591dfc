-- No confidence is read in a condition that asks for none.
select task, condition, model, run, item_id, confidence
from signaldetection_responses
where condition <> 'confidence' and confidence is not null
