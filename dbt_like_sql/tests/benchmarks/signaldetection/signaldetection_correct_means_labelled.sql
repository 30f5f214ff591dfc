-- An answer is right exactly when its response is the label.
select task, condition, model, run, item_id, stimulus, response, correct
from signaldetection_responses
where coalesce(correct, 0) <> (response is not distinct from stimulus)::int
