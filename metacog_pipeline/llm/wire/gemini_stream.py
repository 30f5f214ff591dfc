"""Streams of Gemini ``streamGenerateContent``: each event is a whole response that holds the next part."""

from __future__ import annotations

from metacog_pipeline.llm.wire import streams, values

LISTS = ("chosenCandidates", "topCandidates")


class ChunkAssembler(streams.EventAssembler):
    """Joins the parts of the first candidate; of everything else the last that was said counts."""

    __slots__ = ("_candidate", "_logprobs", "_parts", "_top")

    def __init__(self) -> None:
        super().__init__()
        self._top: values.JsonDict = {}
        self._candidate: values.JsonDict = {}
        self._parts: list[object] = []
        self._logprobs: dict[str, list[object]] = {}

    @property
    def text(self) -> str:
        """What has come of the answer's text so far."""
        return self._said(thought=False)

    @property
    def reasoning(self) -> str:
        """What has come of the thinking so far."""
        return self._said(thought=True)

    def _said(self, *, thought: bool) -> str:
        parts = [part for part in self._parts if (values.at(part, "thought") is True) == thought]
        return "".join(values.str_at(part, "text") or "" for part in parts)

    def _take(self, event: values.JsonDict) -> values.JsonDict | None:
        if event.get("error"):
            return event
        self._top.update(streams.kept(event, ("candidates",)))
        for candidate in values.list_at(event, "candidates") or []:
            if isinstance(candidate, dict) and candidate.get("index") in (0, None):
                self._add(candidate)
        if values.str_at(values.dict_at(event, "promptFeedback"), "blockReason"):
            self.finished = True
        return None

    def _add(self, candidate: values.JsonDict) -> None:
        self._parts.extend(values.list_at(values.dict_at(candidate, "content"), "parts") or [])
        result = values.dict_at(candidate, "logprobsResult")
        for name in LISTS:
            if tokens := values.list_at(result, name):
                self._logprobs.setdefault(name, []).extend(tokens)
        rest = streams.kept(candidate, ("content", "logprobsResult"))
        self._candidate.update(rest)
        if "finishReason" in rest:
            self.finished = True

    def _whole(self) -> values.JsonDict:
        content = {"role": "model", "parts": self._parts}
        candidate = self._candidate | {"content": content}
        if self._logprobs:
            candidate["logprobsResult"] = self._logprobs
        return self._top | ({"candidates": [candidate]} if self._candidate or self._parts else {})
