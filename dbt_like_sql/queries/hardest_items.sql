-- One row: one item that few models answer, the hardest ten of each benchmark, with how sure they were.
select
    benchmark,
    item_id,
    kind,
    n,
    n_correct / n as accuracy,
    mean_confidence,
    left(question, 80) as question
from items
where n > 0
qualify row_number() over (partition by benchmark order by n_correct / n, round(mean_confidence, 9) desc, item_id) <= 10
order by benchmark, accuracy, round(mean_confidence, 9) desc, item_id
