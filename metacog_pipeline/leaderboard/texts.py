"""Texts of prompts and replies in a file beside the leaderboard, ``transcripts.duckdb``: it only ever grows.

``answers`` has a row per answer: answer_id, prompt (a digest), text, reasoning, logprobs, status; ``prompts`` a row per
prompt, for many answers share one. Each publish adds the answers of files it has not taken up yet. Those that are there
stay, unless another answer to the same call stands now: one that came after a failure, or was asked for again. It opens
anywhere, like the leaderboard; ``metacog sql`` attaches it as ``texts``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb

from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.database import attached, building, new_database, one_instance
from metacog_pipeline.leaderboard.inputs import Input, of_dataset, scan
from metacog_pipeline.leaderboard.snapshot import inputs_of
from metacog_pipeline.leaderboard.staging import SHARED

_TABLES = """
create table answers (answer_id varchar, prompt varchar, text varchar, reasoning varchar, logprobs varchar,
    status varchar, reask integer);
create table prompts (prompt varchar, request varchar);
create table files (file varchar, digest varchar);
comment on table answers is 'One row: one answer. Key: answer_id.';
comment on column answers.answer_id is 'SHA-256 of everything the call was asked with; the same in detail.calls';
comment on column answers.prompt is 'digest of what was sent; prompts has it';
comment on column answers.text is 'the reply as it came; of a failed call what had arrived before it broke';
comment on column answers.reasoning is 'what the model thought, whole or in summary, where the provider tells it';
comment on column answers.status is 'ok, refused, truncated or failed; null in rows of version 0.2';
comment on column answers.reask is 'how often the call was asked again because its answer was unusable';
comment on column answers.logprobs is 'probabilities of the tokens as JSON, where they were kept';
comment on table prompts is 'One row: one prompt. Key: prompt.';
comment on column prompts.prompt is 'MD5 of the request';
comment on column prompts.request is 'the request as JSON: messages and sampling';
comment on table files is 'One row: a file that was taken up. Key: file.';
comment on column files.file is 'path below the home of the study';
comment on column files.digest is 'SHA-256 of its content';
"""

# A file of version 0.2 lacks these columns.
_NEW_COLUMNS = """
alter table answers add column if not exists status varchar;
alter table answers add column if not exists reask integer;
"""
# An answer that is there stays, unless it is that of a failed call, or a later one to the same call is found.
_KEEP_WHAT_STANDS = """
delete from found using answers as old
where
    found.answer_id = old.answer_id
    and (found.status = 'failed' or coalesce(found.reask, 0) <= coalesce(old.reask, 0))
    and not (coalesce(found.status, '') <> 'failed' and coalesce(old.status = 'failed', old.text = ''))
"""


def grow_texts(home: Home) -> int:
    """Add the answers that are new since the last call to ``<home>/transcripts.duckdb`` and return how many were added.

    Raises
    ------
    StoreError
        If the file cannot be read or written; it is then as it was.
    """
    target = home.texts
    with building(home), one_instance(home) as instance:
        known = _known(instance, target)
        every = scan(home, _of_board(instance, home.leaderboard), ("transcripts",))
        files = {path: every[path] for path in of_dataset(SHARED["stg_calls"], every)}
        fresh = [path for path, each in files.items() if known.get(path) != each.digest]
        if target.exists() and not fresh:
            return 0
        with new_database(instance, target, copy=bool(known)) as connection:
            connection.begin()
            if not known:
                connection.execute(_TABLES)
            added = _add(connection, files, fresh)
            connection.commit()
            return added


def _known(instance: duckdb.DuckDBPyConnection, target: Path) -> dict[str, str]:
    """Return the files taken up, with their digests; nothing where the file is missing or unreadable: it is made anew."""
    try:
        with attached(instance, texts=target) as connection:
            return dict(connection.execute("select file, digest from texts.files").fetchall())
    except (StoreError, duckdb.Error):
        return {}


def _of_board(instance: duckdb.DuckDBPyConnection, board: Path) -> dict[str, Input]:
    """Return the files of which the board tells the digest: as long as they are as they were, they are not read again."""
    try:
        with attached(instance, old=board) as connection:
            return inputs_of(connection, "old")
    except (StoreError, duckdb.Error):
        return {}


def _add(connection: duckdb.DuckDBPyConnection, files: Mapping[str, Input], fresh: list[str]) -> int:
    connection.execute(_NEW_COLUMNS)
    connection.execute(
        "create temp table found as select answer_id, md5(request_json) as prompt, request_json as request, text, "
        "reasoning_text as reasoning, logprobs_json as logprobs, status, coalesce(reask, 0) as reask "
        f"from ({SHARED['stg_calls'].reading(fresh)}) where text is not null and answer_id is not null "
        "qualify row_number() over (partition by answer_id order by coalesce(status = 'failed', false), "
        "coalesce(superseded, false), coalesce(reask, 0) desc, started_at) = 1"
    )
    connection.execute(_KEEP_WHAT_STANDS)
    connection.execute("delete from answers where answer_id in (select answer_id from found)")
    connection.execute("insert into answers by name select * exclude (request) from found")
    connection.execute(
        "insert into prompts select distinct prompt, request from found "
        "where prompt is not null and prompt not in (select prompt from prompts)"
    )
    for path in fresh:
        connection.execute("delete from files where file = ?", [path])
        connection.execute("insert into files values (?, ?)", [path, files[path].digest])
    added = int(connection.execute("select count(*) from found").fetchall()[0][0])
    connection.execute("drop table found")
    return added
