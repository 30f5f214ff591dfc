-- One row: one way in which a d′, raw alignment and accuracy of the ESMA paper can come about together: how often yes was said
-- to right and to wrong answers. Some rows of the paper leave two ways.
-- Key: place, subject, solution.
-- Source: stg_selfknowledge_published_rates.
-- #UNIQUE(place, subject, solution)
-- #NOT_NULL(place, subject, dataset, solution, hit_rate, false_alarm_rate, yes_ratio)
-- columns:
--   subject: a model, what was done to it, and the data set where there are several
--   solution: 1, 2
--   hit_rate: yeses among right answers, 0 to 1
--   false_alarm_rate: yeses among wrong answers, 0 to 1
--   yes_ratio: yeses among all, 0 to 1
--   d_clip: d′ as the paper computes it
--   d_loglinear: d′ as this project does, from the same rates and n
--   n: questions
--   n_solutions: sets of whole answers that print alike
--   correct: right answers, where one set only prints so; likewise hits and false_alarms, yeses to right and wrong ones
from stg_selfknowledge_published_rates
order by place, subject, solution
