-- A harmonised response is right or wrong, and its confidence a probability.
select benchmark, model, run, item_id, correct, confidence
from responses
where correct not in (0, 1) or confidence < 0 or confidence > 1
