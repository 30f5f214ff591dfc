-- An answer is right exactly when its response is the label; no confidence is read in a condition that asks for none.
select task, condition, model, run, item_id, stimulus, response, correct, confidence
from signaldetection_responses
where coalesce(correct, 0) <> (response is not distinct from stimulus)::int
    or (condition <> 'confidence' and confidence is not null)
