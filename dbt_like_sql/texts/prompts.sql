-- One row: one prompt.
-- Key: prompt.
-- Source: transcripts.
-- columns:
--   prompt: MD5 of the request
--   request: the request as JSON: messages and sampling
select distinct md5(request_json) as prompt, request_json as request
from stg_calls
where request_json is not null and text is not null
