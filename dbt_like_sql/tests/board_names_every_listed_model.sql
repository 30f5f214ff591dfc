-- Every model the study lists has a coverage on the board, answered or not.
select listed.model
from int_listed_models as listed
where not exists (
    select 1 from board where board.model = listed.model and board.measure = 'coverage' and board.source <> 'published'
)
