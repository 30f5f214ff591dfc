"""Texts of prompts and replies in a file beside the leaderboard, ``transcripts.duckdb``.

``answers`` has a row per answer, the one that stands of a call that was repeated; ``prompts`` a row per prompt, for many
answers share one. It opens anywhere, like the leaderboard; ``metacog sql`` attaches it as ``texts``.
"""

from __future__ import annotations

from collections.abc import Sequence

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import new_database
from metacog_pipeline.leaderboard.datasets import SHARED

_TABLES = """
create table answers as
select
    answer_id, md5(request_json) as prompt, text, reasoning_text as reasoning, logprobs_json as logprobs, status,
    coalesce(reask, 0) as reask
from calls
where text is not null and answer_id is not null
-- An answer stands before a failed call, before one that another replaced, and the last one asked for before the others.
qualify row_number() over (
    partition by answer_id
    order by coalesce(status = 'failed', false), coalesce(superseded, false), coalesce(reask, 0) desc, started_at
) = 1;
create table prompts as
select distinct md5(request_json) as prompt, request_json as request
from calls
where request_json is not null and text is not null;
comment on table answers is 'One row: one answer. Key: answer_id.';
comment on column answers.answer_id is 'SHA-256 of everything the call was asked with; the same in detail.calls';
comment on column answers.prompt is 'digest of what was sent; prompts has it';
comment on column answers.text is 'the reply as it came; of a failed call what had arrived before it broke';
comment on column answers.reasoning is 'what the model thought, whole or in summary, where the provider tells it';
comment on column answers.status is 'ok, refused, truncated or failed';
comment on column answers.reask is 'how often the call was asked again because its answer was unusable';
comment on column answers.logprobs is 'probabilities of the tokens as JSON, where they were kept';
comment on table prompts is 'One row: one prompt. Key: prompt.';
comment on column prompts.prompt is 'MD5 of the request';
comment on column prompts.request is 'the request as JSON: messages and sampling';
"""


def build_texts(home: Home, files: Sequence[str]) -> None:
    """Build ``<home>/transcripts.duckdb`` from the transcripts among ``files``, paths below the home.

    Raises
    ------
    StoreError
        If the file cannot be read or written; it is then as it was.
    """
    calls = SHARED["stg_calls"]
    with new_database(home, home.texts) as connection:
        connection.execute(f"create temp view calls as {calls.reading(calls.of(files))}")
        connection.execute(_TABLES)
