-- A yes that fails and an answer that is aligned exclude each other, and one of them holds where a yes was said.
select dataset, condition, model, run, item_id, yes, direct_correctness, yes_failure, no_failure, meta_alignment
from selfknowledge_answers
where (yes = 1 and yes_failure + meta_alignment <> 1) or (yes = 0 and no_failure + meta_alignment <> 1)
