-- An interval leaves out 0 exactly where its p is below 0.05, and the one of the family where the corrected p is.
select benchmark, family, measure, a, b, value, low, high, p, low_adjusted, high_adjusted, p_adjusted
from comparisons
where source <> 'published' and value <> 0 and (
    (p is not null and low is not null and (p < 0.05) <> (low > 0 or high < 0))
    or (p_adjusted is not null and low_adjusted is not null and (p_adjusted < 0.05) <> (low_adjusted > 0 or high_adjusted < 0))
)
