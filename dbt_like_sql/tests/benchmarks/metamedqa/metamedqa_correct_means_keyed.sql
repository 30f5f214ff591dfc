-- An answer is right exactly when its letter is the key.
select condition, model, run, item_id, target, answer, correct
from metamedqa_responses
where correct <> (answer is not distinct from target)::int
