"""Streams of chat completions, of OpenAI and of the servers that speak its format."""

from __future__ import annotations

from metacog_pipeline.llm.wire import streams, thoughts, values
from metacog_pipeline.llm.wire.responses import ResponseAssembler

PLACED = frozenset({"choices", "usage"})
SPREAD = frozenset({"delta", "message", "logprobs"})  # over many chunks


class ChatAssembler(streams.EventAssembler):
    """Joins the deltas of the first choice: text, refusal, reasoning fields, log-probabilities; keeps the usage."""

    __slots__ = ("_choice", "_counts", "_length", "_logprobs", "_message", "_pieces", "_top")

    def __init__(self) -> None:
        super().__init__()
        self._top: values.JsonDict = {}
        self._counts = streams.Counts("completion_tokens")
        self._length = 0
        self._forget()

    def _forget(self) -> None:
        self._choice: values.JsonDict = {}
        self._message: values.JsonDict = {"role": "assistant", "content": None}
        self._pieces: dict[str, list[object]] = {}
        self._logprobs: dict[str, list[object]] = {}

    def _said(self, *, thought: bool) -> str:
        for name in thoughts.FIELDS if thought else ("content",):
            if pieces := self._pieces.get(name):
                return "".join(
                    piece if isinstance(piece, str) else "" if thought else values.str_at(piece, "text") or ""
                    for piece in pieces
                )
        return ""

    def _says_nothing(self) -> bool:
        return not (
            self._choice.get("finish_reason") or self._pieces.get("content") or self._pieces.get("refusal")
        )

    @property
    def counted(self) -> bool:
        """Whether the tokens of the reply have been counted, or will not be."""
        return self._done or self._counts.known

    def _take(self, event: values.JsonDict) -> values.JsonDict | None:
        if event.get("error"):
            return event
        if event.get("object") == "error":  # vLLM before 0.9: the error is not wrapped
            return {"error": event}
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and self._leads(choice):
                self._add(choice)
        if isinstance(counted := event.get("usage"), dict):
            self._counts.note(counted, self._length)
        if not self._top or self.finished or not choices:  # the chunks between repeat the first one
            self._top.update(streams.kept(event, PLACED))
        return None

    def _add(self, choice: values.JsonDict) -> None:
        delta = choice.get("delta")
        if not (delta and isinstance(delta, dict)):
            delta = values.dict_at(choice, "message") or {}
        for name, value in delta.items():
            if isinstance(value, str) and name != "role":
                self._pieces.setdefault(name, []).append(value)
                self._length += len(value)
            elif isinstance(value, list):
                self._pieces.setdefault(name, []).extend(value)
            elif value is not None:
                self._message[name] = value
        if isinstance(listed := choice.get("logprobs"), dict):
            for name in ("content", "refusal"):
                if tokens := values.list_at(listed, name):
                    self._logprobs.setdefault(name, []).extend(tokens)
        for name, value in choice.items():
            if value and name not in SPREAD and values.given(value):  # most say nothing
                self._choice[name] = value
        text, end = bool(delta.get("content") or delta.get("refusal")), choice.get("finish_reason")
        self._heard(text=text, end=bool(end) and values.given(end))

    def _whole(self) -> values.JsonDict:
        message = self._message | {name: _joined(pieces) for name, pieces in self._pieces.items()}
        choice = {"finish_reason": streams.UNFINISHED} | self._choice | {"index": 0, "message": message}
        if self._logprobs:
            choice["logprobs"] = self._logprobs
        return self._top | {"object": "chat.completion", "choices": [choice], "usage": self._counts.total()}


def _joined(pieces: list[object]) -> object:
    """Return text as one string; where parts came too (Mistral, OpenRouter), a list of parts."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(map(str, pieces))
    return [{"type": "text", "text": piece} if isinstance(piece, str) else piece for piece in pieces]


class OpenAIAssembler:
    """A stream of chat completions or of Responses, told apart by the first event."""

    __slots__ = ("_inner",)

    def __init__(self) -> None:
        self._inner: ChatAssembler | ResponseAssembler | None = None

    def feed(self, data: bytes) -> None:
        """Take the data of one server-sent event."""
        if self._inner is None:
            kind = values.str_at(values.load(data), "type") or ""
            typed = kind == "error" or kind.startswith("response.")
            self._inner = ResponseAssembler() if typed else ChatAssembler()
        self._inner.feed(data)

    @property
    def text(self) -> str:
        """What has come of the answer's text so far."""
        return self._inner.text if self._inner is not None else ""

    @property
    def reasoning(self) -> str:
        """What has come of the thinking so far."""
        return self._inner.reasoning if self._inner is not None else ""

    @property
    def finished(self) -> bool:
        """Whether the provider said that the reply is whole."""
        return self._inner is not None and self._inner.finished

    @property
    def counted(self) -> bool:
        """Whether the tokens of the reply have been counted."""
        return self._inner is None or self._inner.counted

    def body(self) -> bytes:
        """Return the body that the reply in one piece would have had, or that of an error."""
        return (self._inner or ChatAssembler()).body()
