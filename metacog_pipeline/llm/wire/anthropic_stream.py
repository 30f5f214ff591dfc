"""Streams of Anthropic Messages."""

from __future__ import annotations

from metacog_pipeline.llm.wire import streams, values

#: kind of delta → (the delta's field, the field of the block it continues, the kind of that block)
DELTAS = {
    "text_delta": ("text", "text", "text"),
    "thinking_delta": ("thinking", "thinking", "thinking"),
    "signature_delta": ("signature", "signature", "thinking"),
    "input_json_delta": ("partial_json", "partial_json", "tool_use"),
}


class MessageAssembler(streams.EventAssembler):
    """Joins the deltas of each content block; a later usage count replaces an earlier one."""

    __slots__ = ("_blocks", "_counts", "_length", "_message", "_pieces")

    def __init__(self) -> None:
        super().__init__()
        self._message: values.JsonDict = {"type": "message", "role": "assistant"}
        self._counts = streams.Counts("output_tokens")
        self._length = 0
        self._blocks: dict[int, values.JsonDict] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}

    def _said(self, *, thought: bool) -> str:
        wanted = "thinking" if thought else "text"
        return "".join("".join(parts) for (_, name), parts in self._pieces.items() if name == wanted)

    def _says_nothing(self) -> bool:
        return not (self._message.get("stop_reason") or self.text)

    @property
    def counted(self) -> bool:
        """Whether the tokens of the reply have been counted, or will not be."""
        return self._done or self._counts.known

    def _take(self, event: values.JsonDict) -> values.JsonDict | None:
        match event.get("type"):
            case "content_block_delta":
                self._continue(event)
            case "content_block_start":
                self._start(event)
            case "message_start":
                message = values.dict_at(event, "message") or {}
                self._message.update(streams.kept(message, ("content", "usage")))
                # The output of a start is provisional: where no later event counts it, it is not known.
                self._count(message, without="output_tokens")
            case "message_delta":
                self._message.update(streams.kept(values.dict_at(event, "delta") or {}, ("content", "usage")))
                self._count(event)
            case "message_stop":
                self.finished = True
            case "error":
                return event
            case _:  # pings, ends of blocks, and what later versions add
                if event.get("error"):  # a proxy's own error
                    said = values.str_at(event.get("error"), "message") or "the stream held an error"
                    return streams.failed("api_error", said)
        return None

    def _count(self, holder: values.JsonDict, without: str = "") -> None:
        reported = streams.kept(values.dict_at(holder, "usage") or {}, (without,))
        self._counts.note(reported, self._length)

    def _start(self, event: values.JsonDict) -> None:
        place = values.count_at(event, "index")
        block = values.dict_at(event, "content_block")
        if place is None or block is None:
            return
        self._blocks[place] = block
        for name in ("text", "thinking", "signature"):
            if said := values.str_at(block, name):
                self._pieces.setdefault((place, name), []).append(said)

    def _continue(self, event: values.JsonDict) -> None:
        place = values.count_at(event, "index")
        delta = event.get("delta")
        named = DELTAS.get(values.str_at(delta, "type") or "")
        if place is None or named is None:
            return
        field, name, kind = named
        said = values.str_at(delta, field)
        if said is None:
            return
        self._blocks.setdefault(place, {"type": kind})
        self._length += len(said)
        self._pieces.setdefault((place, name), []).append(said)

    def _whole(self) -> values.JsonDict:
        blocks = {place: dict(block) for place, block in sorted(self._blocks.items())}
        for (place, name), parts in self._pieces.items():
            blocks[place][name] = "".join(parts)
        return self._message | {"content": list(blocks.values()), "usage": self._counts.total()}
