-- An answer is right exactly when its letter is the key.
select condition, model, run, target, answer, n, n_correct
from int_metamedqa_cells
where n_correct <> if(answer is not distinct from target, n, 0)
