"""Streams of OpenAI Responses: the last event holds the whole response."""

from __future__ import annotations

from metacog_pipeline.llm.wire import streams, values

LAST = frozenset({"response.completed", "response.incomplete", "response.failed"})
THOUGHTS = frozenset({"response.reasoning_text.delta", "response.reasoning_summary_text.delta"})
DELTAS = frozenset({"response.output_text.delta", "response.refusal.delta"})


class ResponseAssembler(streams.EventAssembler):
    """Takes the response of the last event; finished items stand in where a server leaves its output out."""

    __slots__ = ("_items", "_response", "_said", "_thought")

    def __init__(self) -> None:
        super().__init__()
        self._said: list[str] = []
        self._thought: list[str] = []
        self._items: list[object] = []
        self._response: values.JsonDict = {}

    @property
    def text(self) -> str:
        """What has come of the answer's text so far."""
        return "".join(self._said)

    @property
    def reasoning(self) -> str:
        """What has come of the thinking so far."""
        return "".join(self._thought)

    def _take(self, event: values.JsonDict) -> values.JsonDict | None:
        kind = event.get("type")
        if not isinstance(kind, str):
            return event if event.get("error") else None
        if kind in DELTAS:
            self._said.append(values.str_at(event, "delta") or "")
        elif kind in THOUGHTS:
            self._thought.append(values.str_at(event, "delta") or "")
        elif kind == "response.output_item.done":
            self._items.append(event.get("item"))
        elif kind in LAST:
            self._response = values.dict_at(event, "response") or {}
            self.finished = True
        elif kind == "error":
            return {"error": values.dict_at(event, "error") or streams.kept(event, ("type",))}
        return None

    def _whole(self) -> values.JsonDict:
        if self._items and not self._response.get("output"):
            return self._response | {"output": self._items}
        return self._response
