-- An answer is right exactly when its response is the label.
select task, condition, model, run, stimulus, response, n, n_correct
from int_signaldetection_cells
where n_correct <> if(response is not distinct from stimulus, n, 0)
