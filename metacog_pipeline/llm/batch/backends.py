"""The batches of OpenAI, Anthropic and Gemini: submit, find again, look, read a line of results."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import IO, Literal
from urllib.parse import quote, urlencode, urlsplit

from metacog_pipeline.errors import ProviderError, one_line
from metacog_pipeline.llm.batch.records import Batch
from metacog_pipeline.llm.capabilities import NOTHING_KNOWN
from metacog_pipeline.llm.spec import ModelSpec, base_url, key_variable
from metacog_pipeline.llm.transport import Http, Reply, SendFailure, send
from metacog_pipeline.llm.types import ChatRequest, ErrorKind, Message, Sampling
from metacog_pipeline.llm.wire import values, wire_for
from metacog_pipeline.llm.wire.events import HttpCall

Why = Literal["expired", "cancelled", "error", "missing"]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,255}")
#: In one batch: far below what each takes (50,000 and 200 MB at OpenAI), because requests and results are held in memory.
MOST_REQUESTS, MOST_BYTES = 10_000, 100_000_000
# of a list, so that a server that repeats itself ends
MOST_PAGES = 200
# ours and the provider's
CLOCKS_DIFFER = timedelta(minutes=5)
# as a batch names it, wherever the server has it
OPENAI_ENDPOINT = "/v1/chat/completions"
OPENAI_RUNNING = frozenset({"validating", "in_progress", "finalizing", "cancelling", "unknown"})
GEMINI_ENDED = frozenset({"SUCCEEDED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED"})
#: Of errors that no retry helps, and whose name alone does not say so.
ANTHROPIC_STATUS = {"invalid_request_error": 400, "not_found_error": 404, "request_too_large": 413}
#: Of google.rpc.Code.
GEMINI_STATUS = {3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 9: 400, 13: 500, 14: 503, 16: 401}
#: The words of each for requests that were not answered, and not billed.
OPENAI_UNBILLED: dict[str | None, Why] = {"batch_expired": "expired", "batch_cancelled": "cancelled"}
ANTHROPIC_UNBILLED: dict[str | None, Why] = {"expired": "expired", "canceled": "cancelled"}
# codes without the name of a status
GEMINI_UNBILLED: dict[int, Why] = {1: "cancelled", 4: "expired"}
SILENCE_S, WHOLE_S = 60.0, 3600.0
# bytes a second of a submission: half a megabit
SLOWEST = 60_000
MAX_JSON_BYTES = 16 * 2**20
# far above 50,000 answers with log-probabilities
MAX_RESULT_BYTES = 8 * 2**30
#: Sent by gateways whose server may have acted.
TAKEN_OR_NOT = frozenset({408, 499, 500, 502, 503, 504, 520, 524})


class Later(Exception):
    """Not possible now. ``taken``: the call may have been taken, so look before anything is sent again."""

    def __init__(self, message: str, *, taken: bool = True) -> None:
        super().__init__(message)
        self.taken = taken


class Refused(ProviderError):
    """The provider answered no. What was submitted is kept, and found again when the reason is gone."""


class Calls:
    """The calls about one batch, which bears ``mark``. Each raises `Later` or `Refused`."""

    def __init__(
        self,
        http: Http,
        spec: ModelSpec,
        key: str | None,
        mark: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        root, self.spec, self.mark = base_url(spec), spec, mark
        versioned = spec.provider == "openai" or re.search(r"/v\d[a-z0-9]*$", root)
        self.root = root if versioned else f"{root}/v1"
        self._http, self._key, self._wire = http, key, wire_for(spec.provider)
        any_request = ChatRequest((Message("user", "-"),), Sampling())
        given = headers or self._wire.build(spec, any_request, key, NOTHING_KNOWN).headers
        self._headers = {**given, "accept": "*/*"}

    async def json(
        self,
        method: str,
        url: str,
        content: bytes | Mapping[str, object] = b"",
        headers: Mapping[str, str] | None = None,
    ) -> tuple[values.JsonDict, Mapping[str, str]]:
        """Send ``content``, as JSON where it is no bytes; return the object that comes back, and its headers."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        call = HttpCall(url, {**self._headers, **(headers or {})}, body, method=method)
        reply = await self._sent(call, MAX_JSON_BYTES)
        decoded = values.load(reply.body)
        if not isinstance(decoded, dict):
            raise Later("the provider answered with something that is no JSON object")
        return decoded, reply.headers

    async def download(self, url: str, target: IO[bytes]) -> None:
        """Write the body of ``url`` to ``target``."""
        await self._sent(HttpCall(url, self._headers, b"", method="GET"), MAX_RESULT_BYTES, target)

    async def _sent(self, call: HttpCall, most: int, into: IO[bytes] | None = None) -> Reply:
        silence = SILENCE_S + len(call.body) / SLOWEST
        try:
            reply = await send(self._http, call, silence, WHOLE_S, max_body=most, into=into)
        except SendFailure as failure:
            raise Later(str(failure), taken=failure.maybe_billed) from None
        if 200 <= reply.status < 300:
            return reply
        read = self._wire.read(self.spec, reply.status, reply.headers, reply.body, self._key)
        said = f"{one_line(read.error_message or read.finish_reason or 'refused', 300)} (HTTP {reply.status})"
        taken = reply.status in TAKEN_OR_NOT
        if taken or read.error_kind in (ErrorKind.RATE_LIMIT, ErrorKind.TRANSIENT):
            raise Later(said, taken=taken)
        raise Refused(
            f"model {self.spec.name}: batch {self.mark}: {said}: correct base_url or the key in "
            f'{key_variable(self.spec) or "api_key_env"}, set lane = "online", or give a batch up whose key you no longer '
            f"have: metacog status STUDY --give-up {self.mark}"
        )


@dataclass(frozen=True, slots=True)
class Look:
    """The state of a batch at the provider: ``word`` is the provider's, ``results`` the addresses of its results."""

    phase: Literal["running", "ended", "failed"]
    word: str
    results: tuple[str, ...] = ()
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One result: of which request, and either an HTTP answer (status, body) or why there is none."""

    custom_id: str
    status: int = 0
    body: bytes = b""
    why: Why | None = None


@dataclass(frozen=True, slots=True)
class Backend:
    """What the batches of the providers differ in."""

    # The first takes requests and returns the provider's name of their batch, the last None for no line of results.
    submit: Callable[[Calls, Sequence[bytes]], Awaitable[str]]
    state: Callable[[values.JsonDict, str], Look]
    read: Callable[[values.JsonDict], Line | None]
    path: str
    # Goes before the body of a request.
    head: str
    after: str
    # The field of a batch's metadata that bears ours.
    mark: str | None = None
    # An account's list of batches is at ``path``, asked for with ``page`` and going on behind ``after``.
    page: str = "limit=100"
    entries: str = "data"
    name: str = "id"
    cancels_at: str = "/cancel"

    def line(self, custom_id: str, body: bytes) -> bytes:
        """Return one request of a submission."""
        return self.head.replace("ID", custom_id).encode() + body + b"}"

    async def look(self, calls: Calls, remote: str) -> Look:
        """Return the state of a batch."""
        found, _ = await calls.json("GET", f"{calls.root}/{self.path}/{_escaped(remote)}")
        return self.state(found, calls.root)

    async def cancel(self, calls: Calls, remote: str) -> None:
        """Ask the provider to stop a batch; what it has answered by then is billed and kept."""
        await calls.json("POST", f"{calls.root}/{self.path}/{_escaped(remote)}{self.cancels_at}", {})

    async def find(self, calls: Calls, batch: Batch) -> str | None:
        """Look for a batch in the list of the account; raises `Later` while one under way may be it."""
        query = ""
        for _ in range(MOST_PAGES):
            found, _headers = await calls.json("GET", f"{calls.root}/{self.path}?{self.page}{query}")
            page = values.list_at(found, self.entries) or []
            for listed in page:
                if await self._is_ours(calls, listed, batch):
                    return _name(listed, self.name)
            more = page and values.at(found, "has_more") is True
            token = values.str_at(found, "nextPageToken") or (_name(page[-1], self.name) if more else None)
            if token is None:
                break
            query = f"&{urlencode({self.after: token})}"
        return None

    async def _is_ours(self, calls: Calls, listed: object, batch: Batch) -> bool:
        """Whether a batch of the list bears our mark or, where none has a mark, names our requests in its results."""
        record = batch.record
        if self.mark is not None:
            return values.str_at(values.dict_at(listed, "metadata"), self.mark) == record.mark
        # both are UTC
        begun = f"{record.created_at - CLOCKS_DIFFER:%Y-%m-%dT%H:%M:%S}"
        counts = values.dict_at(listed, "request_counts") or {}
        total = sum(values.count_at(counts, key) or 0 for key in counts)
        if (
            not isinstance(listed, dict)
            or total != record.n
            or (values.str_at(listed, "created_at") or "") < begun
        ):
            return False
        look, asked = self.state(listed, calls.root), {answer for answer, *_ in batch.answers()}
        if look.phase == "running":
            raise Later("a batch of the same size is under way, and may be this one")
        with tempfile.TemporaryFile() as results:
            for url in look.results:
                await calls.download(url, results)
            results.seek(0)
            lines = (read_line(self, each) for each in results)
            return any(line is not None and line.custom_id in asked for line in lines)


def read_line(backend: Backend, line: bytes) -> Line | None:
    """Return what a line of results means; None where it is none, for any content."""
    decoded = values.load(line)
    try:
        return backend.read(decoded) if isinstance(decoded, dict) else None
    except (TypeError, ValueError, RecursionError):
        return None


# --- OpenAI -------------------------------------------------------------------------------------------------------------
async def _openai_submit(calls: Calls, lines: Sequence[bytes]) -> str:
    # a file whose reply was lost is uploaded again, which costs nothing
    mark = calls.mark
    head = (
        f'--{mark}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{mark}.jsonl"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    ).encode()
    content = head + b"\n".join(lines) + f"\r\n--{mark}--\r\n".encode()
    form = {"content-type": f"multipart/form-data; boundary={mark}"}
    file, _ = await calls.json("POST", f"{calls.root}/files", content, form)
    body = {
        "input_file_id": _name(file, "id"),
        "endpoint": OPENAI_ENDPOINT,
        "completion_window": "24h",
        "metadata": {"metacog": mark},
    }
    made, _ = await calls.json("POST", f"{calls.root}/batches", body)
    return _name(made, "id")


def _openai_state(found: values.JsonDict, root: str) -> Look:
    word = values.str_at(found, "status") or "unknown"
    if word in OPENAI_RUNNING:
        return Look("running", word)
    files = [key for key in ("output_file_id", "error_file_id") if values.at(found, key)]
    error = values.first(values.list_at(values.dict_at(found, "errors"), "data"))
    names = tuple(f"{root}/files/{quote(_name(found, key))}/content" for key in files)
    return Look("failed" if word == "failed" else "ended", word, names, values.str_at(error, "message"))


def _openai_read(decoded: values.JsonDict) -> Line | None:
    custom_id = values.str_at(decoded, "custom_id")
    if custom_id is None:
        return None
    response = values.dict_at(decoded, "response")
    status = values.count_at(response, "status_code")
    if response is None or status is None:
        code = values.str_at(values.dict_at(decoded, "error"), "code")
        return Line(custom_id, why=OPENAI_UNBILLED.get(code, "error"))
    return Line(custom_id, status, _encoded(response.get("body")))


# --- Anthropic ----------------------------------------------------------------------------------------------------------
async def _anthropic_submit(calls: Calls, lines: Sequence[bytes]) -> str:
    content = b'{"requests":[' + b",\n".join(lines) + b"]}"
    made, _ = await calls.json("POST", f"{calls.root}/messages/batches", content)
    return _name(made, "id")


def _anthropic_state(found: values.JsonDict, root: str) -> Look:
    word = values.str_at(found, "processing_status") or "unknown"
    if word != "ended":
        return Look("running", word)
    # The address of the results is the provider's to name, but the key goes only to the address of the study.
    return Look("ended", word, (f"{root}/messages/batches/{_name(found, 'id')}/results",))


def _anthropic_read(decoded: values.JsonDict) -> Line | None:
    custom_id, result = values.str_at(decoded, "custom_id"), values.dict_at(decoded, "result")
    if custom_id is None or result is None:
        return None
    kind = values.str_at(result, "type")
    if kind == "succeeded":
        return Line(custom_id, 200, _encoded(result.get("message")))
    if kind == "errored":
        error = result.get("error")
        named = values.str_at(values.dict_at(error, "error"), "type") or ""
        return Line(custom_id, ANTHROPIC_STATUS.get(named, 500), _encoded(error))
    return Line(custom_id, why=ANTHROPIC_UNBILLED.get(kind, "error"))


# --- Gemini -------------------------------------------------------------------------------------------------------------
async def _gemini_submit(calls: Calls, lines: Sequence[bytes]) -> str:
    content, mime = b"\n".join(lines), "application/jsonl"
    base, _, version = calls.root.rpartition("/")
    begin = {
        "x-goog-upload-protocol": "resumable",
        "x-goog-upload-command": "start",
        "x-goog-upload-header-content-length": str(len(content)),
        "x-goog-upload-header-content-type": mime,
    }
    body: dict[str, object] = {"file": {"displayName": calls.mark, "mimeType": mime}}
    _, replied = await calls.json("POST", f"{base}/upload/{version}/files", body, begin)
    where = replied.get("x-goog-upload-url", "")
    # the key goes only to the address of the study
    if urlsplit(where)[:2] != urlsplit(base)[:2]:
        said = "the address to upload to is not at the address of the study: nothing was uploaded"
        raise Later(said)
    command = {"x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0", "content-type": mime}
    file, _ = await calls.json("POST", where, content, command)
    source = _name(values.dict_at(file, "file"), "name")
    model = quote(calls.spec.model if "/" in calls.spec.model else f"models/{calls.spec.model}", safe="/")
    body = {"batch": {"displayName": calls.mark, "inputConfig": {"fileName": source}}}
    made, _ = await calls.json("POST", f"{calls.root}/{model}:batchGenerateContent", body)
    return _name(made, "name")


def _gemini_state(found: values.JsonDict, root: str) -> Look:
    metadata = values.dict_at(found, "metadata")
    state = values.str_at(metadata, "state") or "unknown"
    word = state.removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_")
    if word == "FAILED":
        error = values.str_at(values.dict_at(found, "error"), "message")
        return Look("failed", "failed", message=error)
    if word not in GEMINI_ENDED:
        return Look("running", word.lower())
    for place in (values.dict_at(found, "response"), values.dict_at(metadata, "output")):
        if values.at(place, "responsesFile") is not None:
            file = quote(_name(place, "responsesFile"))
            return Look("ended", word.lower(), (f"{root}/{file}:download?alt=media",))
    return Look("ended", word.lower())


def _gemini_read(decoded: values.JsonDict) -> Line | None:
    key, error = values.str_at(decoded, "key"), values.dict_at(decoded, "error")
    if key is None:
        return None
    if error is None:
        return Line(key, 200, _encoded(decoded["response"])) if "response" in decoded else None
    code = values.count_at(error, "code") or 0
    if code in GEMINI_UNBILLED and values.str_at(error, "status") is None:
        return Line(key, why=GEMINI_UNBILLED[code])
    status = code if 400 <= code < 600 else GEMINI_STATUS.get(code, 500)
    return Line(key, status, _encoded({"error": {**error, "code": status}}))


# --- shared -------------------------------------------------------------------------------------------------------------
def _name(found: object, key: str) -> str:
    """Return a name the provider gave; raise `Later` for one that does not fit an address."""
    name = values.str_at(found, key)
    if name is None or not NAME.fullmatch(name) or ".." in name:
        said = f"the provider named what was made in a way that cannot be used: {key} is missing or odd"
        raise Later(said)
    return name


def _escaped(remote: str) -> str:
    # Gemini's names begin with the path
    return quote(remote.removeprefix("batches/"))


def _encoded(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


# OpenAI's batches bear our mark in their metadata, Gemini's in their display name. Anthropic has no place
# for one: where the reply to a submission was lost, the results of a batch of the same size made since
# decide, because they name the requests.
_HEAD = f'{{"custom_id":"ID","method":"POST","url":"{OPENAI_ENDPOINT}","body":'
_OPENAI = Backend(_openai_submit, _openai_state, _openai_read, "batches", _HEAD, "after", "metacog")
_ANTHROPIC = Backend(
    *(_anthropic_submit, _anthropic_state, _anthropic_read),
    *("messages/batches", '{"custom_id":"ID","params":', "after_id"),
)
_GEMINI = Backend(
    *(_gemini_submit, _gemini_state, _gemini_read),
    *("batches", '{"key":"ID","request":', "pageToken", "displayName"),
    *("pageSize=100", "operations", "name", ":cancel"),
)
BACKENDS: Mapping[str, Backend] = {"openai": _OPENAI, "anthropic": _ANTHROPIC, "gemini": _GEMINI}
