-- A retired model drops off the board.
select distinct model
from board
where source <> 'published' and model not in (select model from int_listed_models)
