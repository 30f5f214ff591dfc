-- One row: one point of a curve about what a listed model knows of its own answers.
-- Key: dataset, condition, model, curve, position.
-- Source: stg_selfknowledge_curves, int_listed_models, int_selfknowledge_question_sets.
-- #UNIQUE(dataset, condition, model, curve, position)
-- #NOT_NULL(dataset, condition, model, curve, position, x, y)
-- #SET{curve: roc|said|correct|wrong}
-- #SET{source: measured|simulated}
-- columns:
--   curve: roc (type-2 ROC of P(yes) / (P(yes) + P(no))), said (the one point of the spoken yes), correct and wrong
--     (density of the same share among right and among wrong answers, 30 bins, each with an area of 1)
--   x: false-alarm rate, or the lower edge of a bin
--   y: hit rate, or density
--   threshold: a yes from here up; null for none
--   n: answers; of a bin, those in it
select
    points.benchmark,
    points.dataset,
    points.condition,
    points.model,
    points.curve,
    points.position,
    points.x,
    points.y,
    points.threshold,
    points.n,
    listed.source
from stg_selfknowledge_curves as points
inner join int_listed_models as listed using (model)
inner join int_selfknowledge_question_sets as asked using (dataset)
order by dataset, condition, model, curve, position
