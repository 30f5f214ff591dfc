-- One row: one question in one run of one listed model: what was said, whether it was right, whether it was said to be known.
-- Key: dataset, condition, model, run, item_id.
-- Source: stg_selfknowledge_observations, stg_selfknowledge_items, int_listed_models, int_selfknowledge_question_sets.
-- #UNIQUE(dataset, condition, model, run, item_id)
-- #NOT_NULL(dataset, condition, model, run, item_id, status)
-- #SET{source: measured|simulated}
-- columns:
--   question: in the language of the condition
--   ground_truths: the accepted answers in that language
--   prediction: the reply to the direct question
--   meta_answer: the reply to "do you know it?", null under idk
--   direct_correctness: 1 or 0, null without an answer
--   yes: said to be known, 1 or 0; under idk not abstained; null where neither can be read
--   yes_failure: of a yes, whether the answer was wrong; null where no yes was said
--   no_failure: of a no, whether the answer was right; null where no no was said
--   meta_alignment: right = yes
--   yes_over_no: P(yes) / P(no), null where no log-probabilities were kept or P(no) is 0
--   confidence: P(yes) / (P(yes) + P(no))
with said as (
    select
        seen.*,
        listed.source as kind,
        if(seen.condition = 'idk', 1 - seen.abstained, seen.yes) as known
    from stg_selfknowledge_observations as seen
    inner join int_listed_models as listed on listed.model = seen.model and seen.run <= listed.runs
    inner join int_selfknowledge_question_sets as asked using (dataset)
)

select
    said.benchmark,
    said.dataset,
    said.condition,
    said.language,
    said.model,
    said.run,
    said.item_id,
    said.position,
    items.questions[said.language] as question,
    items.answers[said.language] as ground_truths,
    said.output as prediction,
    said.meta_output as meta_answer,
    said.correct as direct_correctness,
    said.known as yes,
    if(said.known = 1, 1 - said.correct, null) as yes_failure,
    if(said.known = 0, said.correct, null) as no_failure,
    (said.correct = said.known)::tinyint as meta_alignment,
    if(said.confidence < 1, said.confidence / (1 - said.confidence), null) as yes_over_no,
    said.confidence,
    said.status,
    said.reason,
    said.answer_id,
    said.answer_id_meta,
    said.kind as source
from said
left join stg_selfknowledge_items as items using (item_id)
order by said.dataset, said.condition, said.position, said.item_id, said.model, said.run
