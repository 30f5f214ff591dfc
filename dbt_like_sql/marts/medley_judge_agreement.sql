-- One row: how far the judges agree on one dimension: all of them (Krippendorff's alpha, Fleiss' kappa) or two (Cohen's).
-- Key: dataset, source, reading, measure, dimension, a, b.
-- Source: stg_medley_judge_agreement, int_medley_question_sets.
-- #UNIQUE(dataset, source, reading, measure, dimension, a, b)
-- #NOT_NULL(dataset, source, measure, dimension)
-- columns:
--   reading: strict (a grade outside the offered set is none) or reference (it counts as 1, as in the authors' package)
--   dimension: one of ten, or all: their mean
--   estimate: at most 1, 0 as by chance; null when there is no value, status says why
--   n: answers that two judges graded
select found.*
from stg_medley_judge_agreement as found
inner join int_medley_question_sets as asked using (dataset)
order by all
