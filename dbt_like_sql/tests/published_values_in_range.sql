-- Published shares lie between 0 and 1, published ratings between 1 and 5.
select benchmark, place, model, condition, measure, value, unit
from published_values
where (unit = 'percent' and value not between 0 and 1) or (unit = 'points' and value not between 1 and 5)
