-- One row: one answer.
-- Key: answer_id.
-- Source: transcripts.
-- columns:
--   answer_id: SHA-256 of everything the call was asked with; the same in detail.calls
--   prompt: digest of what was sent; prompts has it
--   text: the reply as it came; of a failed call what had arrived before it broke
--   reasoning: what the model thought, whole or in summary, where the provider tells it
--   logprobs: probabilities of the tokens as JSON, where they were kept
--   status: ok, refused, truncated or failed
--   reask: how often the call was asked again because its answer was unusable
select
    answer_id, md5(request_json) as prompt, text, reasoning_text as reasoning, logprobs_json as logprobs, status,
    coalesce(reask, 0) as reask
from stg_calls
where text is not null and answer_id is not null
-- An answer stands before a failed call, before one that another replaced, and the last one asked for before the others.
qualify row_number() over (
    partition by answer_id
    order by coalesce(status = 'failed', false), coalesce(superseded, false), coalesce(reask, 0) desc, started_at
) = 1
