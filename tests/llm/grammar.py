"""Grammars of the three protocols: replies as providers, proxies and broken servers write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from metacog_pipeline.llm.costs import fewest_tokens

Body = dict[str, Any]
Provider = Literal["openai", "anthropic", "gemini"]
PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic", "gemini")
MAX_TOKENS = 300  # what each request asks for at most
PROMPT = "Which of these is it? A, B, C or D. " * 8
ABSURD = 10**9

# How a server counts. The first three are the truth, told once or as it grows; the others say nothing, or what cannot be.
TRUE = ("right", "cumulative", "per chunk")
NO_COUNT = ("missing", "null", "zero", "negative", "words", "provisional")
TOO_MUCH = ("absurd",)
TOO_LITTLE = ("one",)
# How a reply ends. What breaks on the way may have been billed, and is never scored.
WHOLE = ("stop", "length")
BROKEN = ("cut", "error inside", "garbage")
LATE = ("late error", "late garbage")  # behind the last word of a whole reply
STOPS = {
    "openai": {"stop": "stop", "length": "length"},
    "anthropic": {"stop": "end_turn", "length": "max_tokens"},
    "gemini": {"stop": "STOP", "length": "MAX_TOKENS"},
}


# ``plain`` and ``events`` write the same reply in one piece and as a stream, so that both readers are held
# to one truth.
@dataclass(frozen=True, slots=True)
class Reply:
    """``text`` and ``thought`` in pieces; ``sent`` and ``got`` the tokens that are truly billed; how they are told."""

    provider: Provider
    thought: tuple[str, ...]
    text: tuple[str, ...]
    sent: int
    got: int
    counting: str
    ending: str
    marked: bool = True
    echo: str = ""
    others: tuple[str, ...] = ()
    first: bool = False

    @property
    def said(self) -> str:
        return "".join(self.text)

    @property
    def whole(self) -> bool:
        """Whether the reply came to its end, whatever follows."""
        return self.ending not in BROKEN and self.ending != "no reason"

    @property
    def finish(self) -> str | None:
        if self.ending == "no reason":
            return None
        return STOPS[self.provider]["length" if self.ending == "length" else "stop"]

    def usage(self, got: int | None = None) -> Any:
        """Return the usage as the protocol names it; ``None`` where the server does not count."""
        got = self.got if got is None else got
        sent: Any = self.sent
        match self.counting:
            case "missing":
                return None
            case "null":
                sent = got = None  # type: ignore[assignment]
            case "zero":
                sent = got = 0
            case "negative":
                sent, got = -self.sent, -self.got
            case "words":
                sent, got = "many", "some"  # type: ignore[assignment]
            case "absurd":
                got = ABSURD
            case "one":
                got = 1
        names = {
            "openai": ("prompt_tokens", "completion_tokens"),
            "anthropic": ("input_tokens", "output_tokens"),
            "gemini": ("promptTokenCount", "candidatesTokenCount"),
        }[self.provider]
        return dict(zip(names, (sent, got), strict=True))

    def among(self, own: list[Body], other: Callable[[int, str], list[Body]]) -> list[Body]:
        """Return what is ``own`` to the reply with that of the other choices."""
        others = [each for index, text in enumerate(self.others, start=1) for each in other(index, text)]
        return others + own if self.first else own + others


def _pieces(words: st.SearchStrategy[str], least: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(words, min_size=least, max_size=4).map(tuple)


_words = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=30)


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    """Draw a reply of any protocol, ordinary or broken, and what it truly costs."""
    provider = draw(st.sampled_from(PROVIDERS))
    text = draw(_pieces(_words, 1))
    thought = draw(_pieces(_words, 0))
    shown_apart = "".join(thought) not in "".join(text)  # else it may be the same text, shown between tags
    least = fewest_tokens("".join(text)) + shown_apart * fewest_tokens("".join(thought))
    counting = draw(st.sampled_from(TRUE + NO_COUNT + TOO_MUCH + TOO_LITTLE))
    # What a server counts too low by mistake is believed down to the fewest tokens that the reply can be.
    got = least if counting == "one" else draw(st.integers(least + 1, MAX_TOKENS))
    ending = draw(st.sampled_from((*WHOLE, *WHOLE, "no reason", *BROKEN, *LATE)))
    if provider == "gemini" and ending in LATE and len(text) < 2:
        # Servers exist that name an end with every piece; after a single one nobody can tell whether it was the last.
        ending = "stop"
    sent = draw(st.integers(fewest_tokens(PROMPT) + 1, 200))
    echo = draw(st.sampled_from(("", "key")))
    # Where the connection breaks, a reply is whole once its own choice is; that is another test.
    others = draw(_pieces(_words, 0)) if ending in WHOLE and provider != "anthropic" else ()
    marked, first = draw(st.booleans()), draw(st.booleans())
    return Reply(provider, thought, text, sent, got, counting, ending, marked, echo, others, first)


whole_replies = replies().filter(lambda reply: reply.ending in WHOLE and reply.counting in TRUE)


def plain(reply: Reply) -> Body:
    """Return the body of ``reply`` in one piece, as it is where nothing breaks on the way."""
    said, thought, usage = reply.said, "".join(reply.thought), reply.usage()
    if reply.counting == "provisional":
        usage = None
    if reply.provider == "openai":
        message = {"role": "assistant", "content": said} | ({"reasoning_content": thought} if thought else {})
        listed = {"content": [_token(each) for each in reply.text]}
        own = {"index": 0, "message": message, "logprobs": listed, "finish_reason": reply.finish}
        choices = reply.among(
            [own], lambda index, text: [_choice(index, message={"role": "assistant", "content": text})]
        )
        return {**CHAT, "object": "chat.completion", "choices": choices} | ({"usage": usage} if usage else {})
    if reply.provider == "anthropic":
        blocks = [{"type": "thinking", "thinking": thought}] if thought else []
        body = {**MESSAGE, "content": [*blocks, {"type": "text", "text": said}], "stop_reason": reply.finish}
        return body | ({"usage": usage} if usage else {})
    parts = [{"text": thought, "thought": True}] if thought else []
    own = {"index": 0, "content": {"role": "model", "parts": [*parts, {"text": said}]}}
    own |= {"finishReason": reply.finish} if reply.finish else {}
    candidates = reply.among([own], lambda index, text: [_candidate(index, {"text": text}, "STOP")])
    return {"candidates": candidates} | ({"usageMetadata": usage} if usage else {})


CHAT = {"id": "r", "created": 1, "model": "x"}
MESSAGE = {"id": "r", "type": "message", "role": "assistant", "model": "x", "stop_sequence": None}


def _token(text: str) -> Body:
    return {"token": text, "logprob": -0.5, "bytes": None, "top_logprobs": []}


def _choice(index: int, finish: str | None = "stop", **fields: Any) -> Body:
    return {"index": index, "finish_reason": finish, **fields}


def _candidate(index: int, part: Body, finish: str | None = None) -> Body:
    candidate = {"index": index, "content": {"role": "model", "parts": [part]}}
    return candidate | ({"finishReason": finish} if finish else {})


def events(reply: Reply) -> list[Body]:
    """Return the events of ``reply``, the last of which ends it."""
    return {"openai": _chunks, "anthropic": _blocks, "gemini": _candidates}[reply.provider](reply)


def _counts(reply: Reply, n: int) -> list[Any]:
    """Return what the server says of its tokens with each of ``n`` events."""
    last = reply.usage()
    match reply.counting:
        case "cumulative":
            return [reply.usage(max(1, reply.got * (place + 1) // n)) for place in range(n)]
        case "per chunk":
            share, rest = divmod(reply.got, n)
            if n == 1 or share < 2:  # as few tokens as chunks cannot be told from a sum so far
                return [None] * (n - 1) + [last]
            # Falls at the second: equal counts can be a sum that was known from the start.
            over = rest or 1
            middle = [share] * (n - 2)
            return [reply.usage(each) for each in (share + over, *middle, share + rest - over)]
        case "provisional":
            return [None] * n
        case _:
            return [None] * (n - 1) + [last]


def _chunks(reply: Reply) -> list[Body]:
    def chunk(index: int, delta: Body, finish: str | None = None, **fields: Any) -> Body:
        choice = _choice(index, finish, delta=delta, **fields)
        return {**CHAT, "object": "chat.completion.chunk", "choices": [choice]}

    own = [chunk(0, {"reasoning_content": each}) for each in reply.thought]
    own += [chunk(0, {"content": each}, logprobs={"content": [_token(each)]}) for each in reply.text]
    own.append(chunk(0, {}, reply.finish))
    listed = reply.among(own, lambda index, text: [chunk(index, {"content": text}), chunk(index, {}, "stop")])
    for event, count in zip(listed, _counts(reply, len(listed)), strict=True):
        if count is not None:
            event["usage"] = count
    return listed


SIGNED: dict[str, Body] = {"thinking": {"signature": ""}, "text": {}}


def _blocks(reply: Reply) -> list[Body]:
    begun = {**MESSAGE, "content": [], "stop_reason": None}
    first = reply.usage(1)  # provisional: every stream starts with a count of its first token
    listed: list[Body] = [{"type": "message_start", "message": begun | ({"usage": first} if first else {})}]
    if reply.counting == "provisional":
        listed[0]["message"]["usage"] = {"input_tokens": reply.sent, "output_tokens": 1}
    blocks = [("thinking", reply.thought)] if reply.thought else []
    for index, (name, pieces) in enumerate([*blocks, ("text", reply.text)]):
        listed.append(
            {
                "type": "content_block_start",
                "index": index,
                "content_block": {"type": name, name: "", **SIGNED[name]},
            }
        )
        listed += [
            {"type": "content_block_delta", "index": index, "delta": {"type": f"{name}_delta", name: piece}}
            for piece in pieces
        ]
        listed.append({"type": "content_block_stop", "index": index})
    end: Body = {"type": "message_delta", "delta": {"stop_reason": reply.finish, "stop_sequence": None}}
    if reply.counting != "provisional" and (usage := reply.usage()) is not None:
        end["usage"] = usage
    return [*listed, end, {"type": "message_stop"}]


def _candidates(reply: Reply) -> list[Body]:
    parts: list[Body] = [{"text": each, "thought": True} for each in reply.thought]
    parts += [{"text": each} for each in reply.text]
    own = [_candidate(0, part, reply.finish if part is parts[-1] else None) for part in parts]
    listed = [
        {"candidates": [each]}
        for each in reply.among(own, lambda n, text: [_candidate(n, {"text": text}, "STOP")])
    ]
    for event, count in zip(listed, _counts(reply, len(listed)), strict=True):
        if count is not None:
            event["usageMetadata"] = count
    return listed


def error_event(reply: Reply, message: str) -> Body:
    """Return an error as the protocol sends it within a stream."""
    if reply.provider == "anthropic":
        return {"type": "error", "error": {"type": "api_error", "message": message}}
    return {"error": {"message": message, "code": 500, "status": "INTERNAL"}}


#: How an event is written down: line end, what comes before it, what stands behind ``data:``, spaces of the JSON.
frames = st.tuples(
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([[], [": keep-alive", ""], ["event: x"], ["id: 1", "retry: 5"]]),
    st.sampled_from(["", " "]),
    st.sampled_from([None, 1]),
)
PLAIN: Any = ("\n", [], " ", None)


def framed(event: Body, frame: Any = PLAIN) -> bytes:
    end, before, blank, indent = frame
    lines = json.dumps(event, indent=indent).split("\n")
    written: str = end.join([*before, *(f"data:{blank}{line}" for line in lines), "", ""])
    return written.encode()
