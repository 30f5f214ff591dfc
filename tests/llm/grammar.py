"""Grammars of the three protocols: replies as providers, proxies and broken servers write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from metacog_pipeline.llm.costs import fewest_tokens
from metacog_pipeline.llm.types import ChatRequest, Completion, Sampling, Status, TokenLogprob
from tests.provider.dialects import DIALECTS, Answer, Asked, Style

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
ENDS = {
    "openai": "finish_reason",
    "anthropic": "stop_reason",
    "gemini": "finishReason",
}  # where a body says how it ended
USAGE = {"openai": "usage", "anthropic": "usage", "gemini": "usageMetadata"}
CHOICES = {"openai": "choices", "gemini": "candidates"}
ASKED = Asked("x", ChatRequest((), Sampling(top_logprobs=0)), stream=True, usage=False)


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


def _worded(reply: Reply, text: str, thought: str = "") -> Body:
    """Return a whole body of the simulated provider, without a count."""
    tokens = tuple(TokenLogprob(each, -0.5) for each in reply.text)
    said = Completion(Status.OK, text, reasoning_text=thought or None, logprobs=tokens)
    body = DIALECTS[reply.provider].worded(Answer("x", ASKED, said, 1, Style()))
    del body[USAGE[reply.provider]]
    return body


def _own(reply: Reply) -> Body:
    """Return the body of the reply alone, with how it ended."""
    body = _worded(reply, reply.said, "".join(reply.thought))
    ended = body[CHOICES[reply.provider]][0] if reply.provider in CHOICES else body
    ended[ENDS[reply.provider]] = reply.finish
    return body


def plain(reply: Reply) -> Body:
    """Return the body of ``reply`` in one piece, as it is where nothing breaks on the way."""
    body, name = _own(reply), CHOICES.get(reply.provider, "")

    def other(index: int, text: str) -> list[Body]:
        return [_worded(reply, text)[name][0] | {"index": index}]

    if name:
        body[name] = reply.among(body[name], other)
    usage = None if reply.counting == "provisional" else reply.usage()
    return body if usage is None else body | {USAGE[reply.provider]: usage}


def _frames(reply: Reply, body: Body, index: int = 0) -> list[Body]:
    """Return the events of a body, those of its choice numbered ``index``."""
    framed = DIALECTS[reply.provider].frames(body, ASKED, len(reply.text))
    listed: list[Body] = [event for _, event in framed if isinstance(event, dict)]
    for event in listed if index else ():
        event[CHOICES[reply.provider]][0]["index"] = index
    return listed


def events(reply: Reply) -> list[Body]:
    """Return the events of ``reply``, the last of which ends it."""
    own = _frames(reply, _own(reply))
    if reply.provider == "anthropic":
        # Every message starts with a count of its first token; a provisional one is all there is.
        first = {"input_tokens": reply.sent, "output_tokens": 1}
        begun = first if reply.counting == "provisional" else reply.usage(1)
        told = [(own[0]["message"], begun)]
        told += [(own[-2], reply.usage())] if reply.counting != "provisional" else []
    else:
        own = reply.among(own, lambda index, text: _frames(reply, _worded(reply, text), index))
        told = list(zip(own, _counts(reply, len(own)), strict=True))
    for place, count in told:
        if count is not None:
            place[USAGE[reply.provider]] = count
    return own


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
