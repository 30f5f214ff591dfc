-- An answer is right or wrong or neither, and its confidence a probability.
select benchmark, model, run, item_id, correct, confidence
from answers
where correct not in (0, 1) or confidence < 0 or confidence > 1
